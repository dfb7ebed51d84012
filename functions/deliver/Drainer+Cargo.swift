import Crypto
import Spool
import Store
import Turnstone
import Unix

extension Drainer {
    /// The verdict of a push that need not be sent any more, or cannot be now.
    func verdictBeforehand(_ push: Push) -> Verdict? {
        if intake.isCalledOff(push.delivery, in: push.job.file) { return .cancelled }
        do throws(Failure) {
            if let cargo = push.job.notification.cargo, let verdict = try load(cargo, push) {
                return verdict
            }
        } catch {
            log.failure(error)
            return .later(error)
        }
        return push.job.notification.expires > now ? nil : .expired
    }

    /// Gives a notification what it is to carry now.
    ///
    /// - Returns: a verdict where there is nothing, or nothing now.
    private func load(
        _ cargo: Notification.Cargo, _ push: Push
    ) throws(Failure) -> Verdict? {
        if case .channel(let channel) = push.delivery.aim {
            return try loadBroadcast(push, to: channel)
        }
        guard let user = push.job.file.user(of: push.delivery), let token = push.delivery.token
        else { return .superseded }
        switch cargo {
        case .activity: return try loadActivity(push, to: token, of: user)
        case .messages: return try releaseMessages(push, of: user)
        case .badge:
            // Under the lock: whoever changes it accepts the push first.
            let badge = try state.users.update(DocumentName(user)) { $0.badge }
            fill(push, ["aps": ["badge": .integer(badge)]])
            return nil
        }
    }

    /// What a channel is to get now: an older state never follows a newer one.
    private func loadBroadcast(_ push: Push, to channel: ChannelID) throws(Failure) -> Verdict? {
        let id = push.job.notification.id
        let taken = try state.channels.update(DocumentName(channel)) { document in
            document.feed?.take(by: id, now: now)
        }
        return fill(push, taken)
    }

    private func loadActivity(
        _ push: Push, to token: DeviceToken, of user: UserID
    ) throws(Failure) -> Verdict? {
        let id = push.job.notification.id
        let taken = try state.users.update(DocumentName(user)) { (document) throws(Failure) in
            if let index = document.devices.firstIndex(where: { $0.activity?.carrier?.id == id }),
                document.devices[index].token != token
            {
                try handOver(push, to: &document.devices[index])
                return nil as ActivityFeed.Taken?
            }
            return document.takeActivity(of: token, by: id, now: now)
        }
        return fill(push, taken)
    }

    private func fill(_ push: Push, _ taken: ActivityFeed.Taken?) -> Verdict? {
        guard let taken else { return .superseded }
        var aps: JSONObject = ["timestamp": .integer(taken.seconds)]
        for member in taken.state.aps.members { aps[member.name] = member.value }
        fill(
            push, ["aps": .object(aps)], priority: taken.state.priority,
            expires: taken.state.expires)
        return nil
    }

    /// The activity has got another token since: another notification goes to that one.
    private func handOver(_ push: Push, to device: inout Device) throws(Failure) {
        let known = push.job.notification
        let id = stableUUID("handed over \(known.id) \(device.token.text)")
        var next = Notification(
            id: id, user: known.user, accepted: known.accepted, expires: known.expires,
            push: known.push)
        next.cargo = known.cargo
        try spool.accept(
            next, to: [Delivery(token: device.token, environment: device.environment)])
        device.activity?.handOver(to: id)
    }

    /// The user may have chosen other quiet hours since.
    private func releaseMessages(_ push: Push, of user: UserID) throws(Failure) -> Verdict {
        var until: Timestamp?
        let document = try state.users.update(DocumentName(user)) { (document) throws(Failure) in
            let passage = document.preferences.passage(nil, at: now, WallClock.minute)
            if case .held(let moment) = passage {
                until = moment
                return document
            }
            try document.held.remove { (id) throws(Failure) in
                try state.messages.find(id)?.calledOff != nil
            }
            if let newest = document.held.messages.last {
                document.held.release(
                    as: stableUUID("released \(push.job.notification.id) \(newest.id)"))
            }
            return document
        }
        for release in document.held.releases where try !spool.contains(release.id) {
            try bring(release, to: user, document)
        }
        return until.map { .waiting($0 - now) } ?? .superseded
    }

    /// To the devices that the user has by now. The release is in the document, so that whoever comes after a crash
    /// does this again, until what was released is delivered.
    private func bring(
        _ release: HeldMessages.Release, to user: UserID, _ document: User
    ) throws(Failure) {
        let devices = document.devices.filter { $0.takesMessages }
        guard !devices.isEmpty else {
            return try state.users.update(DocumentName(user)) { $0.held.finish(release.id) }
        }
        var payload = release.message.payload
        if var aps = payload["aps"]?.object, aps["badge"] != nil {
            aps["badge"] = .integer(document.badge)
            payload["aps"] = .object(aps)
        }
        var notification = Notification(
            id: release.id, user: user, accepted: now, expires: release.message.expires,
            push: PushContent(
                type: "alert", priority: 10, collapseID: release.message.collapseID,
                payload: .object(payload)))
        notification.messageIDs = release.messageIDs
        try spool.accept(
            notification,
            to: devices.map { device in
                Delivery(
                    token: device.token, environment: device.environment,
                    isProven: device.reached != nil)
            })
    }

    private func fill(
        _ push: Push, _ payload: JSONValue, priority: Int? = nil, expires: Timestamp? = nil
    ) {
        let notification = push.job.notification
        var content = notification.push
        content.payload = payload
        content.priority = priority ?? content.priority
        push.job.file.load(content, expires: expires ?? notification.expires)
    }
}

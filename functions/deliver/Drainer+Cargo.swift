import Crypto
import Spool
import Store
import Turnstone
import Unix

extension Drainer {
    /// What a channel is to get now: an older state never follows a newer one.
    func loadBroadcast(_ push: Push, to channel: ChannelID) throws(Failure) -> Verdict? {
        let id = push.job.notification.id
        let taken = try state.channels.update(DocumentName(channel)) { document in
            document.feed?.take(by: id, now: now)
        }
        return fill(push, taken)
    }

    /// What a Live Activity is to show now.
    func loadActivity(
        _ push: Push, to token: DeviceToken, of user: UserID
    ) throws(Failure) -> Verdict? {
        let id = push.job.notification.id
        let taken = try state.users.update(DocumentName(user)) { document in
            document.takeActivity(of: token, by: id, now: now)
        }
        return fill(push, taken)
    }

    /// The user's badge as it is now.
    func loadBadge(_ push: Push, of user: UserID) throws(Failure) -> Verdict? {
        // Under the lock: whoever changes it accepts the push first.
        let badge = try state.users.update(DocumentName(user)) { $0.badge }
        fill(push, ["aps": ["badge": .integer(badge)]])
        return nil
    }

    /// The devices that have taken all of these messages already, for other users.
    private func devicesTold(of messageIDs: [String]) throws(Failure) -> Set<String> {
        var told: Set<String>?
        try intake.log.write()
        for id in messageIDs {
            guard let record = try state.messages.find(id) else { return [] }
            let reached = Set(try intake.devicesReached(by: id, since: record.receipts))
            told = told?.intersection(reached) ?? reached
            if told?.isEmpty == true { return [] }
        }
        return told ?? []
    }

    private func fill(_ push: Push, _ taken: ActivityFeed.Taken?) -> Verdict? {
        guard let taken else { return .superseded("newer") }
        var aps: JSONObject = ["timestamp": .integer(taken.seconds)]
        for member in taken.state.aps.members { aps[member.name] = member.value }
        fill(
            push, ["aps": .object(aps)], priority: taken.state.priority,
            expires: taken.state.expires)
        return nil
    }

    /// The user may have chosen other quiet hours since.
    func releaseMessages(_ push: Push, of user: UserID) throws(Failure) -> Verdict {
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
            // Before the document forgets them: said twice, it counts once.
            let kinds = document.preferences.kinds
            func isUnwanted(_ message: HeldMessages.Message) -> Bool {
                message.kind.map { kinds[$0] == .bool(false) } ?? false
            }
            let gone = document.held.remove { $0.expires <= now || isUnwanted($0) }
            for message in gone {
                let isExpired = message.expires <= now
                intake.log.append(
                    held: [message.id], isExpired ? .expired : .superseded,
                    isExpired ? nil : "unwanted", onDevices: message.count, of: user,
                    in: "\(push.job.notification.id) \(message.device ?? "")", at: now)
            }
            try intake.log.commit()
            document.held.release { (newest, device) in
                stableUUID("released \(push.job.notification.id) \(newest) \(device ?? "")")
            }
            return document
        }
        for release in document.held.releases where try !spool.contains(release.id) {
            try bring(release, to: user, document)
        }
        return until.map { .waiting($0 - now) } ?? .superseded("released")
    }

    /// To the devices that the user has by now, or to the one that it is for. The release is in the document, so that whoever comes after a crash
    /// does this again, until what was released is delivered.
    private func bring(
        _ release: HeldMessages.Release, to user: UserID, _ document: User
    ) throws(Failure) {
        let only = release.message.device
        var devices = document.devices.filter {
            $0.takesMessages && (only == nil || $0.id == only)
        }
        let gone = release.message.count - Int64(devices.count)
        if gone > 0 {
            intake.log.append(
                held: release.messageIDs, .superseded, "unregistered", onDevices: gone, of: user,
                in: release.id, at: now)
        }
        // A phone of several users gets a message once.
        let told =
            try state.registry.sharesDevice(user) ? devicesTold(of: release.messageIDs) : []
        let repeated = devices.filter { told.contains($0.id) }
        if !repeated.isEmpty {
            intake.log.append(
                held: release.messageIDs, .superseded, "delivered",
                onDevices: Int64(repeated.count),
                of: user, in: "\(release.id) again", at: now)
            devices.removeAll { told.contains($0.id) }
        }
        try intake.log.commit()
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
                    token: device.token, id: device.changedID, environment: device.environment,
                    isProven: device.reached != nil)
            })
    }

    func fill(
        _ push: Push, _ payload: JSONValue, priority: Int? = nil, expires: Timestamp? = nil
    ) {
        let notification = push.job.notification
        var content = notification.push
        content.payload = payload
        content.priority = priority ?? content.priority
        push.job.load(content, expires: expires ?? notification.expires)
    }
}

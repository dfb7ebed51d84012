import APNs
import JSON
import Spool
import Store
import Turnstone
import Unix

// Who does not want to be told now gets a message later: its way to each device waits in the device's box, and what is
// in a box when its moment has come goes out with one push, a release.

extension Drainer {
    /// Puts a message into the box of a device that wants it later.
    func hold(
        _ push: Push, for user: UserID, until moment: Timestamp
    ) throws(Failure) -> Verdict {
        guard let token = push.delivery.token, let device = push.device else {
            return .superseded("unregistered")
        }
        let notification = push.job.notification
        var message = Notification(
            id: notification.id, user: user, accepted: notification.accepted,
            expires: notification.end(heldUntil: moment), push: notification.push)
        message.kind = notification.kind
        message.order = notification.order
        message.series = notification.series
        message.badge = notification.badge
        message.notBefore = notification.notBefore
        message.hasOwnLife = notification.hasOwnLife
        let delivery = Delivery(
            token: token, id: push.delivery.deviceID, environment: push.delivery.environment,
            isProven: push.delivery.isProven)
        try spool.hold(
            message, delivery, in: HeldBox(of: user, device),
            until: moment, now: now)
        try lookAgain(at: user, heldUntil: moment)
        return .held
    }

    /// Looks again at what is held for a user whose preferences have changed meanwhile: whoever changed them could not find
    /// yet what has just been put aside.
    private func lookAgain(at user: UserID, heldUntil moment: Timestamp) throws(Failure) {
        let passage = try document(of: user).preferences.passage(nil, at: now, WallClock.minute)
        if case .held(let end) = passage, end >= moment { return }
        _ = try spool.lookAgain(at: user, now: now)
    }

    /// Whether an earlier drainer has put a message into the device's box and could not say so any more.
    func isHeldAlready(_ push: Push, for user: UserID) throws(Failure) -> Bool {
        let notification = push.job.notification
        guard let heldBefore, notification.accepted <= heldBefore, let device = push.device else {
            return false
        }
        let box = HeldBox(of: user, device)
        guard push.job.lane == .bulk else { return try spool.isHeld(notification.id, in: box) }
        if let boxes = push.job.heldBoxes { return boxes.contains(box.name) }
        let boxes = try spool.boxes(of: notification.id)
        push.job.heldBoxes = boxes
        return boxes.contains(box.name)
    }

    /// Brings what an earlier drainer has taken out of boxes and not accepted.
    func recoverHeld() throws(Failure) {
        heldBefore = try spool.holdsAnything() ? now : nil
        for release in try spool.orphanedReleases() {
            orLog { () throws(Failure) in try accept(release, isRecovered: true) }
        }
    }

    /// Lets what is held for devices go whose moment has come. A box that cannot be used keeps nobody else's: it is tried
    /// again a second later, and reported once for each reason.
    func releaseHeld() throws(Failure) {
        guard MonotonicClock.milliseconds >= nextLookAtHeld else { return }
        let known = failedReleases
        if !known.isEmpty, MonotonicClock.milliseconds >= nextRelease {
            failedReleases = [:]
            for (box, failed) in known {
                tryRelease(failed.release, of: box, failed.cause) { () throws(Failure) in
                    // What has left its box and was not accepted.
                    try accept(failed.release, isRecovered: true)
                }
            }
        }
        let moments = try spool.heldMoments()
        let most = 100 + failedReleases.count
        let due = try spool.dueBoxes(among: moments, at: now, most: most)
        if due.count < most { nextLookAtHeld = MonotonicClock.milliseconds + 200 }
        for box in due where failedReleases[box.name] == nil {
            let release = try newID(for: nil)
            tryRelease(release, of: box.name, known[box.name]?.cause) { () throws(Failure) in
                try spool.release(box, as: release, among: moments)
                try accept(release)
            }
        }
    }

    /// - Parameter cause: why the last attempt failed.
    private func tryRelease(
        _ release: String, of box: String, _ cause: String?, _ work: () throws(Failure) -> Void
    ) {
        do throws(Failure) { try work() } catch {
            if error.cause != cause { log.failure(error) }
            failedReleases[box] = (release, error.cause)
            nextRelease = MonotonicClock.milliseconds + 1000
        }
    }

    /// Accepts the notification of a release. What it says is decided when it is sent.
    ///
    /// - Parameter isRecovered: whether an earlier drainer began it, and may have left a part of what is held.
    private func accept(_ release: String, isRecovered: Bool = false) throws(Failure) {
        if isRecovered,
            let box = try spool.messages(of: release, damaged: { (_, _, _) in }).first?.box
        {
            try spool.release(box, as: release, among: spool.heldMoments())
        }
        var damaged: [String] = []
        let messages = try spool.messages(of: release) { (id, path, error) throws(Failure) in
            log.failure(error)
            damaged.append(path)
        }
        guard let newest = messages.last, let user = newest.notification.user else {
            for path in damaged { try spool.setAside(idOf(path), path, now: now) }
            return try spool.forgetRelease(release)
        }
        var notification = Notification(
            id: release, user: user, accepted: now,
            expires: messages.map { $0.notification.end(heldUntil: now) }.max() ?? now,
            push: newest.notification.push)
        notification.cargo = .release
        notification.messageIDs = messages.map { $0.id } + damaged.map(idOf)
        try spool.accept(notification, to: [newest.delivery])
    }

    private func idOf(_ path: String) -> String {
        String(decoding: Array(Files.name(of: path).utf8.prefix(36)), as: UTF8.self)
    }

    /// Decides what a release brings now.
    func loadRelease(
        _ push: inout Push, to device: Device, of user: UserID, _ document: User
    ) throws(Failure) -> Verdict? {
        let release = push.job.notification.id
        let isInDoubt = push.job.file.isInDoubt(push.delivery)
        push.bring([])
        var messages = try spool.messages(of: release) { (id, path, error) throws(Failure) in
            log.failure(error)
            note(.damaged, error.cause, ofMessage: id, push)
            try intake.log.commit()
            try spool.setAside(id, path, now: now)
        }
        var pause: Interval?
        // While it is known what is held for the device under another id.
        let box = push.device == device.id ? nil : HeldBox(of: user, device.id)
        let fates = try fates(of: messages, by: push, on: device, document, besides: box, &pause)
        if let pause { return .behind(for: pause) }
        let isOnlyDevice = document.devices.count { $0.takesMessages } == 1
        try drop(messages, fates, push, isOnlyDevice: isOnlyDevice)
        messages = zip(messages, fates).filter { $0.1.outcome == nil && !$0.1.isVoid }.map { $0.0 }
        guard !messages.isEmpty else { return .superseded("released") }
        // Two to one device would be sent in any order.
        guard bringing[device.id] == nil else { return .soon }
        let passage = document.preferences.passage(nil, at: now, WallClock.minute)
        if case .held(let moment) = passage {
            if isInDoubt {
                push.job.prolong(for: messages.map { $0.notification }, heldUntil: moment)
                let first = messages.map { end(of: $0.notification, in: push.job) }.min()
                return .retained(min(moment, first ?? moment) - now)
            }
            try putBack(messages, of: push, for: user, device, until: moment)
            try lookAgain(at: user, heldUntil: moment)
            return .superseded("held")
        }
        // The clock showed a later time when it was put into the box: the others do not wait for it.
        for message in messages {
            guard let moment = message.notification.notBefore, moment > now else { continue }
            if isInDoubt { return .early(moment - now) }
            try putBack([message], of: push, for: user, device, until: moment)
            messages.removeAll { $0.id == message.id }
        }
        guard !messages.isEmpty else { return .superseded("held") }
        load(messages, into: push.job)
        push.bring(messages.map { $0.id })
        push.brought = messages.compactMap { $0.notification.series }
        try countBadges(of: messages.map { $0.notification }, &push, of: user)
        return nil
    }

    /// Puts some of what a release was to bring into the box again.
    private func putBack(
        _ messages: [HeldMessage], of push: Push, for user: UserID, _ device: Device,
        until moment: Timestamp
    ) throws(Failure) {
        try spool.putBack(
            messages, of: push.job.notification.id, into: HeldBox(of: user, device.id),
            until: moment, now: now)
    }

    /// What becomes of a message that was held.
    private struct Fate {
        /// `nil` where it is still wanted.
        var outcome: Outcome?
        var reason: String?
        /// Whether its file is one too many.
        var isVoid = false
        /// Whether the device gets it, or has got it, all the same.
        var isRepeated = false
    }

    /// A record that cannot be read says nothing: what else is held must not wait for it.
    func record(of message: String) -> MessageRecord? {
        do throws(Failure) { return try state.messages.find(message) } catch {
            log.failure(error)
            return nil
        }
    }

    /// Whether a notification in the spool is still for a device. Its devices only become fewer: of one with very many, most
    /// questions are answered by what was read before.
    private func isOpen(_ message: String, for device: Device) throws(Failure) -> Bool {
        let ids = device.ids
        if let known = openDevices[message], !ids.contains(where: known.contains) { return false }
        let devices = Set(try intake.open(message)?.devices ?? [])
        let count = openDevices.values.reduce(0) { $0 + $1.count }
        if count + devices.count > 100_000 { openDevices = [:] }
        openDevices[message] = devices
        return ids.contains(where: devices.contains)
    }

    /// Whether a device has got a message under one of the ids of those that have become one with it.
    private func hasGot(_ message: String, _ device: Device) throws(Failure) -> Bool {
        guard device.standsForOthers, let record = record(of: message),
            let start = ReceiptLog.Position(record.receipts)
        else { return false }
        try intake.log.write()
        return try intake.hasReached(
            message, from: start, device.token, orAnyOf: device.ids)
    }

    /// - Parameters:
    ///   - push: the release's.
    ///   - other: what is held for the device under the id that it has now, where the messages are held under another.
    ///   - pause: is set to how long to wait for a newer state of one of them.
    private func fates(
        of messages: [HeldMessage], by push: Push, on device: Device, _ document: User,
        besides other: HeldBox?, _ pause: inout Interval?
    ) throws(Failure) -> [Fate] {
        let release = push.job.notification.id
        let isInDoubt = push.job.file.isInDoubt(push.delivery)
        var fates: [Fate] = []
        var kept: [Series] = []
        for message in messages.reversed() {
            var fate = Fate()
            let notification = message.notification
            // What may have arrived is not called off.
            if !isInDoubt, record(of: message.id)?.calledOff != nil {
                fate.outcome = .cancelled
            } else if !isInDoubt, try isOpen(message.id, for: device) {
                // A drainer was killed between its file and the line that says so: the notification itself brings it.
                fate.isVoid = true
            } else if try hasGot(message.id, device) {
                fate = Fate(outcome: .superseded, reason: "delivered", isRepeated: true)
            } else if let other, try spool.isHeld(message.id, in: other, besides: release) {
                fate = Fate(outcome: .superseded, reason: "delivered", isRepeated: true)
            } else if end(of: notification, in: push.job) <= now {
                fate.outcome = .expired
            } else if let kind = notification.kind,
                document.preferences.kinds[kind] == .bool(false)
            {
                fate = Fate(outcome: .superseded, reason: "unwanted")
            } else if let series = notification.series {
                let known = try newer(than: series, on: device)
                if case .taken = known {
                    fate = Fate(outcome: .superseded, reason: "newer")
                } else if kept.contains(where: { $0.replaces(series) }) {
                    fate = Fate(outcome: .superseded, reason: "newer")
                } else {
                    kept.append(series)
                    if case .expected(let interval) = known { pause = interval }
                }
            }
            fates.append(fate)
        }
        return fates.reversed()
    }

    /// Ends the messages that are not to be brought.
    ///
    /// - Parameter isOnlyDevice: whether no other device of the user may have got them.
    private func drop(
        _ messages: [HeldMessage], _ fates: [Fate], _ push: Push, isOnlyDevice: Bool
    ) throws(Failure) {
        let gone = zip(messages, fates).filter { $0.1.outcome != nil || $0.1.isVoid }
        guard !gone.isEmpty else { return }
        let isInDoubt = push.job.file.isInDoubt(push.delivery)
        for (message, fate) in gone {
            guard let outcome = fate.outcome else { continue }
            note(outcome, fate.reason, ofMessage: message.id, push)
            if isInDoubt, let series = message.notification.series { noteReached(series, by: push) }
        }
        // Before their files go: nothing else says so.
        try intake.log.commit()
        if isOnlyDevice, !isInDoubt, let user = push.job.notification.user {
            let changes = gone.filter { $0.1.outcome != nil && !$0.1.isRepeated }.compactMap {
                message, _ in
                message.notification.badge.map { (message.id, $0) }
            }
            try state.takeBackBadges(changes, of: user)
        }
        for (message, _) in gone { try spool.forget(message, now: now) }
    }

    private func note(_ outcome: Outcome, _ reason: String?, ofMessage id: String, _ push: Push) {
        summary.count(outcome)
        intake.log.append(
            Attempt(at: now, pushID: nil, reason: reason, outcome: outcome), ofMessage: id,
            push.delivery, in: push.job.file, isInDoubt: push.job.file.isInDoubt(push.delivery))
    }

    private func load(_ messages: [HeldMessage], into job: Job) {
        guard let newest = messages.last?.notification else { return }
        var content = newest.push
        if messages.count > 1 {
            let payloads = messages.map { $0.notification.push.payload.object ?? [:] }
            content.payload = .object(MergedMessages.payload(payloads))
            if !fits(content.payload) {
                content.payload = .object(MergedMessages.payload(payloads, keepsData: false))
            }
            content.priority = messages.map { $0.notification.push.priority }.max() ?? 10
            content.collapseID = nil
            content.isKept = messages.contains { $0.notification.push.isKept }
        }
        job.load(
            content, expires: messages.map { end(of: $0.notification, in: job) }.max() ?? now)
    }

    /// When a message is over that a release is to bring.
    private func end(of message: Notification, in release: Job) -> Timestamp {
        message.hasOwnLife ? message.expires : release.notification.expires
    }

    /// Whether a payload, with any badge and with less text at the worst, is small enough for APNs.
    private func fits(_ payload: JSONValue) -> Bool {
        let room = PushType.alert.payloadLimit - #""badge":-9223372036854775808,"#.utf8.count
        let size = { (payload: JSONValue) in JSON.text(payload).count }
        return size(payload) <= room || payload.cut(to: room, size) != nil
    }

    /// Changes the badge as messages say, each once for each user, and lets the push show it.
    func countBadges(
        of messages: [Notification], _ push: inout Push, of user: UserID
    ) throws(Failure) {
        let changes = messages.filter { $0.badge != nil }
        guard !changes.isEmpty else { return }
        let badge = try state.users.update(DocumentName(user)) { document in
            for message in changes {
                if let change = message.badge {
                    document.changeBadge(change, messageID: message.id)
                }
            }
            return document.badge
        }
        push.setBadge(badge)
    }

    /// Takes over what an earlier version has held in the user's document.
    func takeOverHeld(of user: UserID) throws(Failure) -> Verdict {
        try state.users.update(DocumentName(user)) { (document) throws(Failure) in
            let messages = try document.held.messages + lostReleases(of: document)
            for message in messages {
                let devices = document.devices.filter {
                    $0.takesMessages && (message.device ?? $0.id) == $0.id
                }
                for device in devices { try hold(message, for: user, device) }
                guard devices.isEmpty else { continue }
                end(message.id, "unregistered", onDevices: message.count, of: user)
            }
            for id in document.held.messageIDs where !messages.contains(where: { $0.id == id }) {
                end(id, "newer", onDevices: 1, of: user)
            }
            try intake.log.commit()
            document.held = HeldMessages()
        }
        return .superseded("released")
    }

    private func end(_ id: String, _ reason: String, onDevices count: Int64, of user: UserID) {
        intake.log.append(
            held: [id], .superseded, reason, onDevices: count, of: user, in: "\(id) ended", at: now)
    }

    /// Releases of the document that are not in the spool.
    private func lostReleases(of document: User) throws(Failure) -> [HeldMessages.Message] {
        var messages: [HeldMessages.Message] = []
        for release in document.held.releases where try !spool.contains(release.id) {
            messages.append(release.message)
        }
        return messages
    }

    private func hold(
        _ message: HeldMessages.Message, for user: UserID, _ device: Device
    ) throws(Failure) {
        var notification = Notification(
            id: message.id, user: user, accepted: now, expires: message.expires,
            push: PushContent(
                type: "alert", priority: 10, collapseID: message.collapseID,
                payload: .object(message.payload)))
        notification.kind = message.kind ?? "message"
        let delivery = Delivery(
            token: device.token, id: device.changedID, environment: device.environment,
            isProven: device.reached != nil)
        try spool.hold(
            notification, delivery, in: HeldBox(of: user, device.id), until: now, now: now)
    }
}

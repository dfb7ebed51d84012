import Documents
import Spool
import Store
import Turnstone
import Unix

/// Messages held for devices whose users do not want them now. A message waits in one box per device. When a
/// box is due, everything in it is sent with one push, a release.
final class HeldBoxes: RunPart {
    let run: Run
    private let documents: LastDocuments
    private let reader: ReleaseReader
    /// The releases whose messages are read before they are accepted, by release.
    private var preparing: [String: (box: String, end: Timestamp?)] = [:]
    /// Whether the last look ended before all due boxes were released.
    private(set) var isCutShort = false
    /// The releases that failed, and why, by box.
    private var failed: [String: (release: String, cause: String)] = [:]
    /// When to try the failed releases again.
    private var nextRetry = Instant.first
    /// When to look for due boxes again. There may be thousands of moments to read.
    private var nextLook = Instant.first
    /// When to look again for releases that an earlier drainer did not accept.
    private var nextRecovery = Instant.last
    /// When this run began, if anything was held then; see ``isHeldAlready(_:)``.
    private var heldBefore: Timestamp?

    init(_ run: Run, _ documents: LastDocuments, _ reader: ReleaseReader) {
        self.run = run
        self.reader = reader
        self.documents = documents
    }

    /// Puts a message into the box of a device whose user wants it later.
    ///
    /// - Parameter user: by the present id. The box has the id under which the message was accepted, as all
    ///   receipts about the message have.
    func hold(
        _ push: Push, for user: UserID, until moment: Timestamp
    ) throws(Failure) -> Verdict {
        guard push.delivery.token != nil, let device = push.device,
            let id = push.job.file.user(of: push.delivery)
        else { return .superseded(.unregistered) }
        let notification = push.message
        try spool.hold(
            notification.heldCopy(for: id, expires: notification.end(heldUntil: moment)),
            push.delivery.heldCopy, in: HeldBox(of: id, device), until: moment, now: now)
        try lookAgain(at: user, held: id, until: moment)
        return .held
    }

    /// Looks again at what is held for a user if the preferences have changed meanwhile: the program that
    /// changed them could not find the message that was just put into a box.
    ///
    /// - Parameter id: the user's id in the name of the box.
    func lookAgain(at user: UserID, held id: UserID, until moment: Timestamp) throws(Failure) {
        let passage = try documents.user(user).preferences.passage(nil, at: now, WallClock.minute)
        if case .held(let end) = passage, end >= moment { return }
        _ = try spool.lookAgain(at: id, now: now)
    }

    /// Whether an earlier drainer put a message into the device's box and ended before it could record that.
    func isHeldAlready(_ push: Push) throws(Failure) -> Bool {
        let notification = push.job.notification
        guard let heldBefore, notification.accepted <= heldBefore, let device = push.device,
            let user = push.job.file.user(of: push.delivery)
        else { return false }
        let box = HeldBox(of: user, device)
        guard push.job.lane.isStreamed else { return try spool.isHeld(notification.id, in: box) }
        if let boxes = push.job.heldBoxes { return boxes.contains(box.name) }
        let boxes = try spool.boxes(of: notification.id)
        push.job.heldBoxes = boxes
        return boxes.contains(box.name)
    }

    /// Accepts the releases that an earlier drainer took out of boxes but did not accept.
    func recover() throws(Failure) {
        heldBefore = try spool.holdsAnything() ? now : nil
        try acceptOrphans()
    }

    private func acceptOrphans() throws(Failure) {
        for release in try spool.orphanedReleases() {
            tryRelease(release, of: release, nil) { () throws(Failure) in
                try accept(release, of: release, isRecovered: true)
            }
        }
        // Whether one in a folder that cannot be entered was accepted shows once it can be.
        nextRecovery = try spool.hasUnclearReleases() ? .now + .minutes(1) : .last
    }

    /// Releases the boxes that are due. A box that fails does not delay the others: it is tried again a
    /// second later, and each reason is reported once.
    func release() throws(Failure) {
        acceptPrepared()
        guard Instant.now >= nextLook else { return }
        if Instant.now >= nextRecovery { try acceptOrphans() }
        let known = failed
        if !known.isEmpty, Instant.now >= nextRetry {
            failed = [:]
            for (box, failure) in known {
                tryRelease(failure.release, of: box, failure.cause) { () throws(Failure) in
                    // The messages have left their box, but the release was not accepted.
                    try accept(failure.release, of: box, isRecovered: true)
                }
            }
        }
        let moments = try spool.heldMoments()
        let most = 100 + failed.count + preparing.count
        let due = try spool.dueBoxes(among: moments, at: now, most: most)
        let slice = TimeSlice()
        let boxes = Set(preparing.values.map(\.box))
        isCutShort = false
        var count = 0
        for box in due where failed[box.name] == nil && !boxes.contains(box.name) {
            let release = try newID(for: nil)
            tryRelease(release, of: box.name, known[box.name]?.cause) { () throws(Failure) in
                if try postpone(box, among: moments) { return }
                let end = try spool.release(box, as: release, among: moments)
                try accept(release, of: box.name, heldUntil: end)
            }
            if failed[box.name] == nil { count += 1 }
            if slice.isOver { break }
        }
        // What fails again and again is no reason to go on.
        isCutShort = count > 0 && (slice.isOver || due.count == most)
        if !slice.isOver, due.count < most { nextLook = Instant.now + .milliseconds(200) }
    }

    /// Whether releases wait until their messages are read.
    var isPreparing: Bool { !preparing.isEmpty }

    private func acceptPrepared() {
        guard !preparing.isEmpty else { return }
        for (release, waiting) in preparing {
            preparing[release] = nil
            tryRelease(release, of: waiting.box, nil) { () throws(Failure) in
                try accept(release, of: waiting.box, heldUntil: waiting.end)
            }
        }
    }

    /// Makes a box wait again if it is due only because its user's preferences have changed, and they still
    /// hold messages: a user who changes preferences often must not cause a full read of the box each time.
    ///
    /// - Returns: whether it waits.
    private func postpone(
        _ box: HeldBox, among moments: Spool.HeldMoments
    ) throws(Failure) -> Bool {
        guard let id = try spool.userOfEarlyBox(box, among: moments, at: now) else { return false }
        let user = try state.present(id)
        let passage = try documents.user(user).preferences.passage(nil, at: now, WallClock.minute)
        guard case .held(let moment) = passage, moment > now else { return false }
        try spool.postpone(box, until: moment, among: moments, now: now)
        try lookAgain(at: user, held: id, until: moment)
        return true
    }

    /// - Parameter cause: why the last attempt failed.
    private func tryRelease(
        _ release: String, of box: String, _ cause: String?, _ work: () throws(Failure) -> Void
    ) {
        do throws(Failure) { try work() } catch {
            if error.cause != cause { log.failure(error) }
            failed[box] = (release, error.cause)
            nextRetry = Instant.now + .seconds(1)
        }
    }

    /// Accepts the notification of a release. Its content is decided when it is sent.
    ///
    /// - Parameters:
    ///   - box: its name, or the release's id if that is not known.
    ///   - end: until when the messages were held. If no drainer ran then, they have expired meanwhile like
    ///     others. `nil` if it is not known: until now.
    ///   - isRecovered: whether an earlier attempt began the release and may have left some of the messages
    ///     in the box.
    private func accept(
        _ release: String, of box: String, heldUntil end: Timestamp? = nil,
        isRecovered: Bool = false
    ) throws(Failure) {
        if isRecovered, let box = try boxOfRelease(release) {
            try spool.release(box, as: release, among: spool.heldMoments())
            reader.forget(release)
        }
        guard let contents = try reader.contents(of: release) else {
            preparing[release] = (box, end)
            return
        }
        let messages = contents.messages
        guard let newest = messages.last, let user = newest.notification.user else {
            try endDamaged(contents, of: release, heldIn: box)
            return try spool.forgetRelease(release)
        }
        var expires = expiration(of: messages, heldUntil: min(end ?? now, now))
        if expires <= now {
            expires = expiration(of: messages, heldUntil: continued(end, for: user))
        }
        var notification = Notification(
            id: release, user: user, accepted: now, expires: expires,
            push: newest.notification.push)
        notification.cargo = .release
        notification.messageIDs = messages.map { $0.id } + contents.damaged.map { $0.id }
        try run.spools.accept(notification, to: [newest.delivery])
    }

    /// Ends the messages of a release of which none can be read.
    private func endDamaged(
        _ contents: ReleaseReader.Contents, of release: String, heldIn box: String
    ) throws(Failure) {
        let devices = contents.damaged.map { device(ofMessage: $0.id, heldIn: box) }
        let new = Set(reader.newDamage(in: contents).map { $0.path })
        for ((id, path, failure), device) in zip(contents.damaged, devices) where new.contains(path)
        {
            let isCancelled = documents.record(of: id)?.cancelled != nil
            let outcome = isCancelled ? Outcome.cancelled : .damaged
            run.summary.count(outcome)
            intake.log.append(
                unreadable: id, outcome, heldFor: device, in: release, reason: failure.cause,
                at: now)
        }
        try intake.log.commit()
        for ((id, path, _), device) in zip(contents.damaged, devices) {
            // A release that was tried and put back may have counted it.
            try run.orLogIfBroken { () throws(Failure) in
                try run.takeBackBadges(id, nil, device?.user.map { [$0] } ?? [], device != nil)
            }
            try spool.setAside(id, path, now: now)
        }
    }

    /// The device for which a message was held whose file cannot be read; `nil` if the receipts do not say.
    ///
    /// - Parameter box: the name of the box.
    private func device(ofMessage id: String, heldIn box: String) -> UserDevice? {
        guard let start = documents.record(of: id)?.receiptsStart(at: now) else { return nil }
        do throws(Failure) { return try run.spools.device(of: id, heldIn: box, from: start) } catch
        {
            return nil  // the message's report tells of it all the same
        }
    }

    /// When the last of the messages expires.
    private func expiration(of messages: [HeldMessage], heldUntil end: Timestamp) -> Timestamp {
        messages.map { $0.notification.end(heldUntil: end) }.max() ?? now
    }

    /// Until when messages were held whose box was due at a moment at which no drainer ran. By the user's present
    /// preferences, one might have put them back into the box.
    private func continued(_ end: Timestamp?, for user: UserID) -> Timestamp {
        guard let end, end < now else { return now }
        do throws(Failure) {
            let document = try documents.user(state.present(user))
            let passage = document.preferences.passage(nil, at: end, WallClock.minute)
            guard case .held(let moment) = passage else { return end }
            return min(moment, now)
        } catch { return now }  // whoever sends the release meets that, too
    }

    /// The box of a release's messages, as the first readable one of them names it.
    private func boxOfRelease(_ release: String) throws(Failure) -> HeldBox? {
        for path in try spool.paths(ofRelease: release) {
            do throws(Failure) {
                if let box = try spool.heldMessage(at: path)?.box { return box }
            } catch {
                guard intake.isDamage(error) else { throw error }
            }
        }
        return nil
    }

    /// Moves messages that an earlier version held in the user's document into boxes.
    func takeOver(heldFor user: UserID) throws(Failure) -> Verdict {
        try state.users[user].update { (document) throws(Failure) in
            let messages = try document.held.messages + lostReleases(of: document)
            for message in messages {
                let devices = document.devices.filter {
                    $0.takesMessages(by: state.services) && $0.platform.service == spool.service
                        && (message.device ?? $0.id) == $0.id
                }
                for device in devices { try hold(message, for: user, device) }
                guard devices.isEmpty else { continue }
                end(message.id, .unregistered, onDevices: message.count, of: user)
            }
            for id in document.held.messageIDs where !messages.contains(where: { $0.id == id }) {
                end(id, .newer, onDevices: 1, of: user)
            }
            try intake.log.commit()
            document.held = HeldMessages()
        }
        return .superseded(.released)
    }

    private func end(_ id: String, _ reason: ReceiptReason, onDevices count: Int64, of user: UserID)
    {
        intake.log.append(
            held: [id], .superseded, reason.rawValue, onDevices: count, of: user, in: "\(id) ended",
            at: now)
    }

    /// The messages of the document's releases that are not in the spool.
    private func lostReleases(of document: User) throws(Failure) -> [HeldMessages.Entry] {
        var messages: [HeldMessages.Entry] = []
        for release in document.held.releases where try !spool.contains(release.id) {
            messages.append(release.message)
        }
        return messages
    }

    private func hold(
        _ message: HeldMessages.Entry, for user: UserID, _ device: Device
    ) throws(Failure) {
        var notification = Notification(
            id: message.id, user: user, accepted: now, expires: message.expires,
            push: PushContent(
                type: .alert, priority: 10, collapseID: message.collapseID,
                payload: message.payload))
        notification.kind = message.kind ?? "message"
        try spool.hold(
            notification, device.delivery(), in: HeldBox(of: user, device.id), until: now, now: now)
    }
}

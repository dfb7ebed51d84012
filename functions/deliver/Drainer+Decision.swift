import Documents
import Spool
import Store
import Turnstone
import Unix

// Accepting a notification is a promise to decide, and sending it is the decision: whom it reaches, what it says and
// whether it is still wanted follow from the documents as they are at this moment.

extension Drainer {
    /// Decides what becomes of a push that is about to be sent.
    ///
    /// - Returns: its verdict where it is not sent, or not now.
    func decide(_ push: inout Push) -> Verdict? {
        if intake.isCalledOff(push.delivery, in: push.job.file) { return .cancelled }
        do throws(Failure) {
            let verdict = try waitingBriefly(for: owner(of: push)) { () throws(Failure) in
                try decideByDocuments(&push)
            }
            if let verdict { return verdict }
        } catch {
            if error.cause == "busy", busy.canWait(for: owner(of: push)) { return .busy }
            log.failure(error)
            guard push.job.notification.expires > now else { return .expired }
            return .failed(error, push.delivery)
        }
        return push.expires > now ? nil : .expired
    }

    /// Reads and changes documents without waiting for anybody who has locked them: everybody else's pushes would wait, too.
    func waitingBriefly<Result>(
        for owner: BusyLine.Owner, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let taken = Lock.taken
        do throws(Failure) {
            let result = try Lock.waiting(upTo: busy.patience(for: owner), body)
            if Lock.taken > taken { busy.noteFree(owner) }
            return result
        } catch {
            if error.cause == "busy" { busy.noteLocked(owner) }
            throw error
        }
    }

    /// Whose documents decide about a push.
    private func owner(of push: Push) -> BusyLine.Owner {
        if let session = push.job.notification.session { return .session(session) }
        return .recipient(push.job.file.recipient(of: push.delivery))
    }

    private func decideByDocuments(_ push: inout Push) throws(Failure) -> Verdict? {
        if case .channel(let channel) = push.delivery.aim {
            return push.job.notification.cargo == .activity
                ? try loadBroadcast(push, to: channel) : nil
        }
        guard push.job.notification.turns != nil || push.job.notification.cargo != nil else {
            return try decideMessage(&push)
        }
        guard let user = push.job.file.user(of: push.delivery) else { return nil }
        if push.job.notification.cargo == .messages { return try takeOverHeld(of: user) }
        if push.job.notification.cargo == .release {
            // The receipts of this release do not mention messages that went back into their box.
            push.bring(try spool.messageIDs(of: push.job.notification.id))
        }
        let document = try document(of: user)
        guard let device = try aim(&push, at: document) else { return .superseded("unregistered") }
        if try isRepeated(push) { return .superseded("delivered") }
        if let told = push.job.notification.turns {
            return try loadNotice(told, &push, to: device, of: user)
        }
        switch push.job.notification.cargo {
        case .activity: return try loadActivity(&push, to: device, of: user)
        case .badge: return try loadBadge(push, of: user)
        case .turnBadge: return try loadTurnBadge(&push, to: device, of: user)
        case .release: return try loadRelease(&push, to: device, of: user, document)
        case .messages, nil: return nil
        }
    }

    /// Whether a message goes out, is held for the device, or ends.
    private func decideMessage(_ push: inout Push) throws(Failure) -> Verdict? {
        if let moment = push.job.notification.notBefore, moment > now {
            return .early(moment - now)
        }
        let verdict = try chooseUser(&push)
        guard let user = push.job.file.user(of: push.delivery), push.job.notification.isMessage
        else {
            return verdict
        }
        guard let verdict else {
            if try isHeldAlready(push, for: user) { return .held }
            guard push.job.notification.expires > now else { return .expired }
            if push.job.notification.badge != nil {
                try countBadges(of: [push.job.notification], &push, of: user)
            }
            return nil
        }
        guard let pause = verdict.heldFor else { return verdict }
        // What may have arrived has to be asked for again under its own id, and where several of the message's users have the
        // phone, any of them may want it at any time.
        let isAnybodys = try !push.job.file.alternates(to: push.original).isEmpty
        if isAnybodys || push.job.file.isInDoubt(push.delivery) {
            push.job.prolong(for: [push.job.notification], heldUntil: now + pause)
            return isAnybodys ? .waiting(min(pause, .minutes(10))) : .retained(pause)
        }
        return try hold(push, for: user, until: now + pause)
    }

    /// For which user a message goes out: it does where one of the users to whom it is addressed still has the device and
    /// wants it now.
    private func chooseUser(_ push: inout Push) throws(Failure) -> Verdict? {
        guard let user = push.job.file.user(of: push.delivery) else {
            return try decideForToken(&push)
        }
        guard let verdict = try decideMessage(&push, for: user) else { return try overtaken(push) }
        let alternates = try push.job.file.alternates(to: push.original)
        return try decide(&push, else: verdict, among: alternates)
    }

    /// The same for a token that nobody had registered when the message was accepted: it belongs to the users who have
    /// registered it since. Without one it is sent to as it is, unless somebody had it in between.
    private func decideForToken(_ push: inout Push) throws(Failure) -> Verdict? {
        guard let token = push.delivery.token else { return try overtaken(push) }
        let index = state.tokens[token]
        if let stamp = push.delivery.stamp, index.stamp == stamp {
            return try overtaken(push)
        }
        guard let known = try index.read() else { return try overtaken(push) }
        // Those who have not got it any more are none of them: their documents say so.
        let holders = known.users.map { Delivery(token: token, environment: nil, user: $0) }
        return try decide(&push, else: .superseded("unregistered"), among: holders)
    }

    /// - Parameter verdict: where none of the alternates goes out, unless theirs is nearer to it.
    private func decide(
        _ push: inout Push, else verdict: Verdict, among alternates: [Delivery]
    ) throws(Failure) -> Verdict? {
        var last = (push: push, verdict: verdict)
        for alternate in alternates {
            guard let user = alternate.user else { continue }
            var other = push
            other.replace(by: alternate)
            guard let next = try decideMessage(&other, for: user) else {
                push = other
                return try overtaken(push)
            }
            if next.isNearer(than: last.verdict) { last = (other, next) }
        }
        push = last.push
        return last.verdict
    }

    /// Lets a message go to the device as the user has it now.
    ///
    /// - Returns: `nil` where the user has it and wants the message now.
    private func decideMessage(
        _ push: inout Push, for user: UserID
    ) throws(Failure) -> Verdict? {
        if isAsAccepted(push, of: user) { return nil }
        let document = try document(of: user)
        guard try aim(&push, at: document) != nil else { return .superseded("unregistered") }
        return try isRepeated(push) ? .superseded("delivered") : unwanted(push, by: document)
    }

    /// Whether the device has become one with another one of the notification, which gets it.
    private func isRepeated(_ push: Push) throws(Failure) -> Bool {
        guard let token = push.delivery.token, token != push.original.token else { return false }
        for other in try push.job.file.others(than: push.original, for: token) {
            guard let user = push.job.file.user(of: other) else { return true }
            // Somebody who has lost the device gets nothing on it.
            if try document(of: user).devices.contains(where: { $0.token == token }) { return true }
        }
        // After the first pass, the file no longer has the devices that got it: only the receipts tell.
        guard push.isMerged, push.job.file.pass > 1 else { return false }
        try intake.log.write()
        let id = push.job.notification.id
        let start = record(of: id).flatMap { ReceiptLog.Position($0.receipts) }
        return try intake.hasReached(
            id, from: start ?? ReceiptLog.Position(dayOf: push.job.notification.accepted), token,
            orAnyOf: push.receiverIDs)
    }

    func document(of user: UserID) throws(Failure) -> User {
        let (known, snapshot) = try state.users[user].read(unless: lastUser)
        lastUser = snapshot
        return known ?? User()
    }

    /// Whether the user's document is the one that the delivery was decided by.
    private func isAsAccepted(_ push: Push, of user: UserID) -> Bool {
        guard let stamp = push.delivery.stamp else { return false }
        let moment = Instant.now
        if let last = lastStamp, last.moment == moment, last.user == user {
            return last.stamp == stamp
        }
        let present = state.users[user].stamp
        lastStamp = (user, moment, present)
        return present == stamp
    }

    /// Lets the push go to the token that the device has now.
    ///
    /// - Returns: `nil` where the device is not the user's any more, or takes no such pushes.
    private func aim(_ push: inout Push, at document: User) throws(Failure) -> Device? {
        guard let token = push.delivery.token,
            let device = document.device(token, id: push.delivery.deviceID),
            device.takesMessages || push.job.notification.push.type == "liveactivity"
        else { return nil }
        push.redirect(to: device)
        return device
    }

    /// What the user's preferences say of a message: they may have changed, and quiet hours may have begun.
    private func unwanted(_ push: Push, by document: User) -> Verdict? {
        let notification = push.job.notification
        guard notification.isMessage, notification.expires > now else { return nil }
        switch passage(of: notification, by: document) {
        case .free: return nil
        case .closed: return .superseded("unwanted")
        case .held(let moment):
            return .waiting(min(moment, notification.end(heldUntil: moment)) - now)
        }
    }

    /// What the user's preferences say of a message now.
    func passage(of notification: Notification, by document: User) -> Preferences.Passage {
        document.preferences.passage(
            notification.isClear ? nil : notification.kind, isExempt: notification.push.isExempt,
            at: now, WallClock.minute)
    }
}

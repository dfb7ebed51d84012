import Crypto
import Documents
import Spool
import Store
import Turnstone
import Unix

/// Decides what becomes of each push when it is about to be sent.
///
/// Accepting a notification is a promise to decide: which devices get it, what it says and whether it is
/// still wanted follow from the documents as they are at the moment of sending.
final class Decisions: RunPart {
    let run: Run
    let order: SeriesOrder
    let boxes: HeldBoxes
    let turns: TurnNotices
    private let documents: LastDocuments
    private let locked: LockedDocuments
    private let activities: ActivityStates
    private let badges: Badges
    private let releases: Releases

    init(_ run: Run, _ queue: PushQueue, _ locked: LockedDocuments) {
        self.run = run
        self.locked = locked
        documents = LastDocuments(run)
        order = SeriesOrder(run, documents, queue)
        boxes = HeldBoxes(run, documents)
        turns = TurnNotices(run)
        activities = ActivityStates(run: run, documents: documents)
        badges = Badges(run: run, documents: documents)
        releases = Releases(run, documents, order, boxes, badges)
    }

    /// Decides what becomes of a push that is about to be sent.
    ///
    /// - Returns: its verdict where it is not sent, or not now.
    func decide(_ push: Push) -> Verdict? {
        if intake.isCancelled(push.delivery, in: push.job.file) { return .cancelled }
        do throws(Failure) {
            let verdict = try locked.waitingBriefly(for: owner(of: push)) { () throws(Failure) in
                try decideByDocuments(push)
            }
            if let verdict { return verdict }
        } catch {
            if error.cause == "busy", locked.canWait(for: owner(of: push)) { return .busy }
            log.failure(error)
            guard push.job.notification.expires > now else { return .expired }
            return .failed(error, push.delivery)
        }
        return push.expires > now ? nil : .expired
    }

    /// Whose documents decide about a push.
    private func owner(of push: Push) -> LockedDocuments.Owner {
        if let session = push.job.notification.session { return .session(session) }
        return .recipient(push.job.file.recipient(of: push.delivery))
    }

    private func decideByDocuments(_ push: Push) throws(Failure) -> Verdict? {
        if case .channel(let channel) = push.delivery.aim {
            return push.job.notification.cargo == .activity
                ? try activities.load(push, to: channel) : nil
        }
        guard push.job.notification.turns != nil || push.job.notification.cargo != nil else {
            return try decideMessage(push)
        }
        guard let user = push.job.file.user(of: push.delivery) else { return nil }
        if push.job.notification.cargo == .messages { return try boxes.takeOver(heldFor: user) }
        if push.job.notification.cargo == .release {
            // The receipts of this release do not mention messages that went back into their box.
            push.bring(try spool.messageIDs(of: push.job.notification.id))
        }
        let document = try documents.user(user)
        guard let device = try aim(push, at: document) else { return .superseded("unregistered") }
        if try isRepeated(push) { return .superseded("delivered") }
        if let told = push.job.notification.turns {
            return try turns.load(told, push, to: device, of: user)
        }
        switch push.job.notification.cargo {
        case .activity: return try activities.load(push, to: device, of: user)
        case .badge:
            try badges.load(push, of: user)
            return nil
        case .turnBadge: return try turns.loadCorrection(push, to: device, of: user)
        case .release: return try releases.load(push, to: device, of: user, document)
        case .messages, nil: return nil
        }
    }

    /// Whether a message goes out, is held for the device, or ends.
    private func decideMessage(_ push: Push) throws(Failure) -> Verdict? {
        if let moment = push.job.notification.notBefore, moment > now {
            return .early(moment - now)
        }
        let verdict = try chooseUser(push)
        guard let user = push.job.file.user(of: push.delivery), push.job.notification.isMessage
        else {
            return verdict
        }
        guard let verdict else {
            if try boxes.isHeldAlready(push, for: user) { return .held }
            guard push.job.notification.expires > now else { return .expired }
            if push.job.notification.badge != nil {
                try badges.count([push.job.notification], in: push, of: user)
            }
            return nil
        }
        guard let pause = verdict.heldFor else { return verdict }
        // What may have arrived has to be asked for again under its own id, and where several of the
        // message's users have the phone, any of them may want it at any time.
        let isAnybodys = try !push.job.file.alternates(to: push.original).isEmpty
        if isAnybodys || push.job.file.isInDoubt(push.delivery) {
            push.job.prolong(for: [push.job.notification], heldUntil: now + pause)
            return isAnybodys ? .waiting(min(pause, .minutes(10))) : .retained(pause)
        }
        return try boxes.hold(push, for: user, until: now + pause)
    }

    /// For which user a message goes out: it does where one of the users to whom it is addressed still has
    /// the device and wants it now.
    private func chooseUser(_ push: Push) throws(Failure) -> Verdict? {
        guard let user = push.job.file.user(of: push.delivery) else {
            return try decideForToken(push)
        }
        guard let verdict = try decideMessage(push, for: user) else {
            return try order.overtaken(push)
        }
        let alternates = try push.job.file.alternates(to: push.original)
        return try decide(push, else: verdict, among: alternates)
    }

    /// The same for a token that nobody had registered when the message was accepted: it belongs to the users
    /// who have registered it since. Without one it is sent to as it is, unless somebody had it in between.
    private func decideForToken(_ push: Push) throws(Failure) -> Verdict? {
        guard let token = push.delivery.token else { return try order.overtaken(push) }
        let index = state.tokens[token]
        if let stamp = push.delivery.stamp, index.stamp == stamp {
            return try order.overtaken(push)
        }
        guard let known = try index.read() else { return try order.overtaken(push) }
        // Those who have not got it any more are none of them: their documents say so.
        let holders = known.users.map { Delivery(token: token, environment: nil, user: $0) }
        return try decide(push, else: .superseded("unregistered"), among: holders)
    }

    /// - Parameter verdict: where none of the alternates goes out, unless theirs is nearer to it.
    private func decide(
        _ push: Push, else verdict: Verdict, among alternates: [Delivery]
    ) throws(Failure) -> Verdict? {
        let first = push.target
        var nearest = (target: first, verdict: verdict)
        for alternate in alternates {
            guard let user = alternate.user else { continue }
            push.target = first
            push.replace(by: alternate)
            guard let next = try decideMessage(push, for: user) else {
                return try order.overtaken(push)
            }
            if next.isNearer(than: nearest.verdict) { nearest = (push.target, next) }
        }
        push.target = nearest.target
        return nearest.verdict
    }

    /// Lets a message go to the device as the user has it now.
    ///
    /// - Returns: `nil` where the user has it and wants the message now.
    private func decideMessage(
        _ push: Push, for user: UserID
    ) throws(Failure) -> Verdict? {
        if documents.isAsAccepted(push.delivery, of: user) { return nil }
        let document = try documents.user(user)
        guard try aim(push, at: document) != nil else { return .superseded("unregistered") }
        return try isRepeated(push) ? .superseded("delivered") : unwanted(push, by: document)
    }

    /// Whether the device has become one with another one of the notification, which gets it.
    private func isRepeated(_ push: Push) throws(Failure) -> Bool {
        guard let token = push.delivery.token, token != push.original.token else { return false }
        for other in try push.job.file.others(than: push.original, for: token) {
            guard let user = push.job.file.user(of: other) else { return true }
            // Somebody who has lost the device gets nothing on it.
            if try documents.user(user).devices.contains(where: { $0.token == token }) {
                return true
            }
        }
        // After the first pass, the file no longer has the devices that got it: only the receipts tell.
        guard push.isMerged, push.job.file.pass > 1 else { return false }
        try intake.log.write()
        let id = push.job.notification.id
        let start = documents.record(of: id).flatMap { ReceiptLog.Position($0.receipts) }
        return try intake.hasReached(
            id, from: start ?? ReceiptLog.Position(dayOf: push.job.notification.accepted), token,
            orAnyOf: push.receiverIDs)
    }

    /// Lets the push go to the token that the device has now.
    ///
    /// - Returns: `nil` where the device is not the user's any more, or takes no such pushes.
    private func aim(_ push: Push, at document: User) throws(Failure) -> Device? {
        guard let token = push.delivery.token,
            let device = document.device(token, id: push.delivery.deviceID),
            device.takesMessages || push.job.notification.push.type == .liveActivity
        else { return nil }
        push.redirect(to: device)
        return device
    }

    /// What the user's preferences say of a message: they may have changed, and quiet hours may have begun.
    private func unwanted(_ push: Push, by document: User) -> Verdict? {
        let notification = push.job.notification
        guard notification.isMessage, notification.expires > now else { return nil }
        switch documents.passage(of: notification, by: document) {
        case .free: return nil
        case .closed: return .superseded("unwanted")
        case .held(let moment):
            return .waiting(min(moment, notification.end(heldUntil: moment)) - now)
        }
    }
}

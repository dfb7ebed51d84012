import Crypto
import Documents
import Messages
import Queueing
import Spool
import Store
import Turnstone
import Unix

/// Decides what becomes of each push just before it is sent.
///
/// Accepting a notification only promises that decision. The documents as they are at the moment of sending
/// say which devices get the notification, what it says and whether it is still wanted.
final class Decisions: RunPart {
    let run: Run
    let order: SeriesOrder
    let boxes: HeldBoxes
    let reader: ReleaseReader
    let turns: TurnNotices
    private let documents: LastDocuments
    private let locked: LockedDocuments
    let activities: ActivityStates
    private let badges: Badges
    private let releases: Releases
    private let selection = SelectionCheck()

    init(_ run: Run, _ queue: PushQueue, _ locked: LockedDocuments) {
        self.run = run
        self.locked = locked
        documents = LastDocuments(run)
        order = SeriesOrder(run, documents, queue)
        reader = ReleaseReader(run, documents)
        boxes = HeldBoxes(run, documents, reader)
        turns = TurnNotices(run)
        activities = ActivityStates(run: run, documents: documents)
        badges = Badges(run: run, documents: documents)
        releases = Releases(run, documents, order, boxes, reader, badges)
    }

    /// Decides what becomes of a push that is about to be sent.
    ///
    /// - Returns: its verdict, if it is not sent now.
    func decide(_ push: Push) -> Verdict? {
        if intake.isCancelled(push.delivery, in: push.job.file) { return .cancelled }
        do throws(Failure) {
            let verdict = try locked.waitingBriefly(for: owner(of: push)) { () throws(Failure) in
                try documents.knowingIDs { () throws(Failure) in try decideByDocuments(push) }
            }
            if let verdict { return verdict }
        } catch {
            if error.cause == FailureCause.busy, locked.canWait(for: owner(of: push)) {
                return .busy
            }
            log.failure(error)
            guard push.job.notification.expires > now else { return .expired }
            return .failed(error, push.delivery)
        }
        return push.expires > now ? nil : .expired
    }

    /// The owner of the documents that decide about a push.
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
        guard let user = try documents.user(of: push) else { return nil }
        if push.job.notification.cargo == .messages { return try boxes.takeOver(heldFor: user) }
        if push.job.notification.cargo == .release {
            // Messages that were put back into their box are not part of this release's receipts.
            push.bring(try spool.messageIDs(of: push.job.notification.id))
        }
        let document = try documents.user(user)
        guard let device = try aim(push, at: document) else {
            return push.job.notification.cargo == .release
                ? try releases.endWithoutDevice(push) : .superseded(.unregistered)
        }
        if try isRepeated(push, on: device) { return .superseded(.delivered) }
        if let notified = push.job.notification.turns {
            return try turns.load(notified, push, to: device, of: user)
        }
        switch push.job.notification.cargo {
        case .activity: return try activities.load(push, to: device, of: user)
        case .badge: return try badges.load(push, of: user)
        case .turnBadge: return try turns.loadCorrection(push, to: device, of: user)
        case .release: return try releases.load(push, to: device, of: user, document)
        case .messages, nil: return nil
        }
    }

    /// Decides whether a message is sent, is held for the device, or ends.
    private func decideMessage(_ push: Push) throws(Failure) -> Verdict? {
        if let moment = push.job.notification.notBefore, moment > now {
            return .early(moment - now)
        }
        let verdict = try chooseUser(push)
        if verdict == nil || verdict?.heldFor != nil {
            guard push.job.notification.push.suits(spool.service) else {
                return push.expires > now ? .unsuitable : .expired
            }
        }
        if verdict == nil { try translate(push) }
        guard let user = try documents.user(of: push), push.job.notification.isMessage else {
            return verdict
        }
        guard let verdict else {
            if try boxes.isHeldAlready(push) { return .held }
            guard push.expires > now else { return .expired }
            return try badges.count([push.job.notification], in: push, of: user)
        }
        guard let pause = verdict.heldFor else { return verdict }
        // A push that may have arrived must be repeated under its own id, and on a phone of several of the
        // message's users any of them may want it at any time. A box's release would ignore a throttle. So
        // none of these goes into a box.
        let isShared = try !push.job.file.alternates(to: push.original).isEmpty
        let isThrottled = push.job.throttle != nil
        if isShared || isThrottled || push.job.file.isInDoubt(push.delivery) {
            push.job.prolong(for: [push.job.notification], heldUntil: now + pause)
            return isShared || isThrottled
                ? .waiting(min(pause, .minutes(10))) : .retained(pause)
        }
        return try boxes.hold(push, for: user, until: now + pause)
    }

    /// Chooses the texts of a message for its user, if it has some in several languages.
    private func translate(_ push: Push) throws(Failure) {
        guard !push.job.notification.push.translations.isEmpty else { return }
        let user = try documents.user(of: push)
        let document = try user.map { (user) throws(Failure) in try documents.user(user) }
        try push.translate(for: document?.profile.language)
    }

    /// Chooses the user for whom a message is sent: one of its users who still has the device and wants the
    /// message now.
    private func chooseUser(_ push: Push) throws(Failure) -> Verdict? {
        guard let user = try documents.user(of: push) else {
            return try decideForToken(push)
        }
        let verdict = try decideMessage(push, for: user)
        let alternates = try push.job.file.alternates(to: push.original)
        guard let verdict else {
            try followToken(push, among: alternates)
            return try order.overtaken(push)
        }
        return try decide(push, else: verdict, among: alternates)
    }

    /// If another user of the device has replaced the token, the phone has that token now, and the one that
    /// this user still has shows nothing any more.
    private func followToken(_ push: Push, among alternates: [Delivery]) throws(Failure) {
        guard !alternates.isEmpty, push.delivery.token == push.original.token else { return }
        let first = push.target
        for alternate in alternates {
            push.replace(by: alternate)
            guard let user = try documents.user(of: push) else {
                push.target = first
                continue
            }
            if try decideMessage(push, for: user) == nil,
                push.delivery.token != first.delivery.token
            {
                return
            }
            push.target = first
        }
    }

    /// Decides about a token that nobody had registered when the message was accepted. It belongs to the
    /// users who have registered it since. If there are none, the message is sent as it is, unless somebody
    /// had the token in between.
    private func decideForToken(_ push: Push) throws(Failure) -> Verdict? {
        guard let token = push.delivery.token else { return try order.overtaken(push) }
        let index = state.tokens[token]
        let isUnchanged = push.delivery.stamp.map { index.stamp == $0 } ?? false
        guard !isUnchanged, let known = try index.read() else {
            if let early = ownMoment(of: push, User()) { return early }
            return try order.overtaken(push)
        }
        // The index may name users who no longer have the token. Their documents decide.
        let holders = known.users.map {
            Delivery(token: token, of: spool.service, environment: nil, user: $0)
        }
        return try decide(push, else: .superseded(.unregistered), among: holders)
    }

    /// - Parameter verdict: the result if no alternate is sent and no alternate's verdict is nearer.
    private func decide(
        _ push: Push, else verdict: Verdict, among alternates: [Delivery]
    ) throws(Failure) -> Verdict? {
        let first = push.target
        var nearest = (target: first, verdict: verdict)
        for alternate in alternates {
            push.target = first
            push.replace(by: alternate)
            guard let user = try documents.user(of: push) else { continue }
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
    /// - Returns: `nil` if the user has the device and wants the message now.
    private func decideMessage(
        _ push: Push, for user: UserID
    ) throws(Failure) -> Verdict? {
        if documents.isAsAccepted(push.delivery, of: user) { return nil }
        let document = try documents.user(user)
        if let verdict = ownMoment(of: push, document) { return verdict }
        guard let device = try aim(push, at: document) else { return .superseded(.unregistered) }
        guard try selection.admits(push.job.notification, document, device, at: now) else {
            return .superseded(.unselected)
        }
        guard try !isRepeated(push, on: device) else { return .superseded(.delivered) }
        return unwanted(push, by: document)
    }

    /// Sets the user's own moment for a message whose users have different ones.
    ///
    /// - Parameter document: of a user that nobody knows, an empty one.
    /// - Returns: a verdict if it has not come.
    private func ownMoment(of push: Push, _ document: User) -> Verdict? {
        let notification = push.job.notification
        guard let option = notification.delayed else { return nil }
        // A message that was accepted in the future came with a clock that has been set back since. Its day
        // begins a little before now, so that a moment that has just come is not taken for tomorrow's.
        let accepted =
            notification.accepted > now ? now - .minutes(15) : notification.accepted
        let moment = document.profile.moment(
            option, from: notification.scheduled ?? accepted, document.preferences,
            WallClock.minute)
        push.setTurn(moment, expires: notification.end(for: moment))
        guard moment > now else { return nil }
        // The user may move to a time zone where the moment comes sooner. Most differ by whole hours, so a look
        // at the same minute of each hour is in time.
        let wait = (moment - now).milliseconds % Interval.hours(1).milliseconds
        return .early(wait > 0 ? .milliseconds(wait) : .hours(1))
    }

    /// Whether the push goes to another token than it was accepted for, and the phone with that token gets the
    /// message, or has got it, by a delivery of its own.
    private func isRepeated(_ push: Push, on device: Device) throws(Failure) -> Bool {
        guard let token = push.delivery.token, token != push.original.token else { return false }
        for other in try push.job.file.others(than: push.original, for: token) {
            guard let user = push.job.file.user(of: other) else { return true }
            // A user who has lost the device gets nothing on it.
            if try documents.user(documents.present(user)).devices.contains(where: {
                $0.token == token
            }) {
                return true
            }
        }
        // After the first pass, the file no longer lists the devices that got it. Only the receipts do.
        guard push.job.file.pass > 1 else { return false }
        try intake.log.write()
        let id = push.job.notification.id
        let start = documents.record(of: id)?.receiptsStart(at: now)
        let accepted = ReceiptLog.Position(dayOf: push.job.notification.accepted)
        // Who had the phone then may have lost it since. Most devices have the id of their first token.
        let ids = try documents.phoneIDs(of: device) + push.receiverIDs + [token.publicID]
        return try intake.hasReached(
            id, from: { start?[$0] ?? accepted }, token, orAnyOf: ids)
    }

    /// Lets the push go to the token that the device has now.
    ///
    /// - Returns: `nil` if the device is no longer the user's or takes no such pushes.
    private func aim(_ push: Push, at document: User) throws(Failure) -> Device? {
        guard let token = push.delivery.token,
            let device = device(push, with: token, in: document),
            device.platform.service == spool.service,
            device.takesMessages(by: state.services)
                || push.job.notification.push.type == .liveActivity
        else { return nil }
        push.redirect(to: device)
        return device
    }

    /// The device that a push is for. A message to a token that nobody had registered goes to whoever has that
    /// token now, even if it was once another device's.
    private func device(
        _ push: Push, with token: DeviceToken, in document: User
    ) -> Device? {
        let known = document.device(token, id: push.delivery.deviceID)
        guard push.job.file.user(of: push.original) == nil else { return known }
        return document.devices.first { $0.token == token } ?? known
    }

    /// The verdict by the user's preferences, which may have changed, and quiet hours, which may have begun;
    /// `nil` if the message is wanted now.
    private func unwanted(_ push: Push, by document: User) -> Verdict? {
        let notification = push.job.notification
        guard notification.isMessage, push.expires > now else { return nil }
        switch documents.passage(of: notification, by: document) {
        case .free: return nil
        case .closed: return .superseded(.unwanted)
        case .held(let moment):
            return .waiting(min(moment, push.end(heldUntil: moment)) - now)
        }
    }
}

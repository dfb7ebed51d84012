import Documents
import Queueing
import Spool
import Store
import Turnstone

// Keeps the numbers on the icons of a user's devices equal to the badge in the user's document.

extension Outbox {
    /// Queues a push of the user's badge to the devices. It is an alert that shows nothing, so iOS changes
    /// the icon without waking the app. Must be called in the update that changes the badge.
    ///
    /// - Parameter except: the device that shows the badge already.
    @export(interface)
    package func sendBadge(
        of document: inout User, to user: UserID, except: DeviceToken? = nil
    ) throws(Failure) {
        var devices = document.devices.filter {
            $0.takesBadges(by: state.services) && $0.token != except
        }
        guard !devices.isEmpty else { return }
        var except = except
        if let pending = document.badgePush, try spools.contains(pending.id) {
            if pending.reaches(devices) { return }
            // The new push goes to all devices. If it left one out again, two devices that change the badge
            // in turn would queue a push for each change.
            except = nil
            devices = document.devices.filter { $0.takesBadges(by: state.services) }
        }
        var notification = Notification(
            id: try newID(for: user), user: user, accepted: now,
            expires: now + .days(1),
            push: PushContent(badge: document.badge, collapseID: "badge"))
        notification.cargo = .badge
        document.badgePush = BadgePush(
            id: notification.id, accepted: now,
            except: document.devices.first { $0.token == except }?.id)
        try spools.accept(
            notification,
            to: devices.map { $0.delivery() })
    }

    /// Takes back the change that a message made to the badge of each user whom it did not reach: no device
    /// accepted it, none may have got it, and none waits for it. Call it once the receipts of the deliveries
    /// that have ended are written. Each change is taken back once, however often this is called.
    ///
    /// - Parameters:
    ///   - change: what the message changes; `nil` if only its record can tell.
    ///   - users: users in question.
    ///   - areAll: whether there are no others. If not, the receipts name them.
    ///   - record: the message's, for a caller who holds the lock of its id; `nil` to look it up.
    /// - Throws: the failure about one of the users, once it is done for the others.
    @export(interface)
    package func takeBackBadges(
        _ change: BadgeChange?, by message: String, among users: Set<UserID>,
        areAll: Bool = true, record: MessageRecord? = nil
    ) throws(Failure) {
        var known = record
        if change == nil, known == nil { known = try state.messages.find(message) }
        guard let change = change ?? known?.badge, case .add = change else { return }
        var failure: Failure?
        func attempt(_ work: () throws(Failure) -> Bool) -> Bool {
            do throws(Failure) { return try work() } catch {
                // A temporary failure wins: everything is retried.
                if failure.map({ $0.disposition == .broken }) ?? true { failure = error }
                return false
            }
        }
        func hasCounted(_ user: UserID) -> Bool {
            attempt { () throws(Failure) in try self.hasCounted(message, user) }
        }
        let counted = users.filter(hasCounted)
        if !areAll || !counted.isEmpty {
            if known == nil { known = try state.messages.find(message) }
            let start = known?.receiptsStart(at: now) ?? .beginning
            let unreached = try spools.usersUnreached(
                by: message, from: start, among: counted, besides: areAll ? nil : hasCounted)
            for user in unreached {
                _ = attempt { () throws(Failure) in
                    try takeBackBadge(change, by: message, of: user)
                    return true
                }
            }
        }
        if let failure { throw failure }
    }

    private func hasCounted(_ message: String, _ user: UserID) throws(Failure) -> Bool {
        try state.users[state.present(user)].read()?.badgeMessages.contains(message) == true
    }

    /// Other pushes may have shown the number since it was changed, so the devices get the current one.
    private func takeBackBadge(
        _ change: BadgeChange, by message: String, of id: UserID
    ) throws(Failure) {
        guard try hasCounted(message, id) else { return }
        let user = try state.present(id)
        try state.users[user].update { (document) throws(Failure) in
            let before = document.badge
            document.takeBackBadge(change, messageID: message)
            if document.badge != before { try sendBadge(of: &document, to: user) }
        }
    }
}

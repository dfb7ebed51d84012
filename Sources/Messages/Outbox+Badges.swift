import Documents
import Spool
import Store
import Turnstone

// Keeps the numbers on the icons of a user's devices equal to the badge in the user's document.

extension Outbox {
    /// Queues a push of the user's badge to the devices. It is an alert that shows nothing, so iOS changes
    /// the icon without waking the app. Must be called in the update that changes the badge.
    ///
    /// - Parameter except: the device that shows the badge already.
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

    /// Takes back the change that a message made to users' badges, because it reached nobody through one push
    /// service. If another one has reached somebody, or still may, the change stays.
    package func takeBackBadges(
        _ change: BadgeChange, by message: String, of users: Set<UserID>,
        unreachedBy service: PushService
    ) throws(Failure) {
        let parts =
            try spools.all().count > 1
            ? try spools.services(with: message, besides: service) : []
        var reached: Set<String>?
        for user in users {
            let document = state.users[user]
            guard let known = try document.read(), known.badgeMessages.contains(message) else {
                continue
            }
            let open = parts.filter { part in
                known.devices.contains { $0.platform.service == part }
            }
            if !open.isEmpty || known.unreached.hasEntry(of: message) {
                let isLast = try document.update {
                    $0.unreached.end(message, of: service, besides: open)
                }
                guard isLast else { continue }
            }
            if reached == nil { reached = try usersReached(by: message) }
            if reached?.contains(user.text) == true { continue }
            try takeBackBadges([(message, change)], of: user)
        }
    }

    /// The users of whom a device accepted a message, according to the receipts.
    private func usersReached(by message: String) throws(Failure) -> Set<String> {
        guard try spools.all().count > 1, let record = try state.messages.find(message),
            let start = ReceiptsStart(record.receipts)
        else { return [] }
        let trace = try spools.trace(message, from: start, devices: record.devices)
        return Set(trace.deliveries.filter { $0.outcome == .accepted }.compactMap { $0.user })
    }

    /// Takes back the changes that messages made to a user's badge, because no device accepted the messages.
    /// Each change is taken back once, however often this is called. Other pushes may have shown the number
    /// since then, so the devices get the current one.
    package func takeBackBadges(
        _ changes: [(message: String, change: BadgeChange)], of user: UserID
    ) throws(Failure) {
        let document = state.users[user]
        let counted = try document.read()?.badgeMessages ?? []
        guard changes.contains(where: { counted.contains($0.message) }) else { return }
        try document.update { (document) throws(Failure) in
            let before = document.badge
            for (message, change) in changes {
                document.takeBackBadge(change, messageID: message)
            }
            if document.badge != before { try sendBadge(of: &document, to: user) }
        }
    }
}

import Documents
import Spool
import Store
import Turnstone

// The numbers on the icons of a user's devices stay what the user's document says.

extension Outbox {
    /// Sees to it that devices get the user's badge, by an alert that shows nothing: iOS changes the icon,
    /// and does not wake the app for it. To be called in the update that changes the badge.
    ///
    /// - Parameter except: the device that shows it already.
    package func sendBadge(
        of document: inout User, to user: UserID, except: DeviceToken? = nil
    ) throws(Failure) {
        var devices = document.devices.filter { $0.takesMessages && $0.token != except }
        guard !devices.isEmpty else { return }
        var except = except
        if let pending = document.badgePush, try spool.contains(pending.id) {
            if pending.reaches(devices) { return }
            // One to all devices: with another exception, two devices in turn would need one for each change.
            except = nil
            devices = document.devices.filter { $0.takesMessages }
        }
        var notification = Notification(
            id: try newID(for: user), user: user, accepted: now,
            expires: now + .days(1),
            push: PushContent(badge: document.badge, collapseID: "badge"))
        notification.cargo = .badge
        document.badgePush = BadgePush(
            id: notification.id, accepted: now,
            except: document.devices.first { $0.token == except }?.id)
        try spool.accept(
            notification,
            to: devices.map { $0.delivery() })
    }

    /// Takes back what messages have added to a user's badge, as no device took them: each once, however
    /// often this is called. Any push since may have shown it: icons get the number as it is now.
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

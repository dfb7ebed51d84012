import Documents
import Spool
import Store
import Turnstone

extension Outbox {
    /// Sends a user a notification that shows whether notifications arrive. It takes the way of all others,
    /// so the user's mute and quiet hours hold it.
    ///
    /// - Parameter device: the id of the only device that gets it; `nil` for all of the user's.
    /// - Throws: not found if the user has no such device; a conflict if none can be reached; too many.
    @export(interface)
    package func sendTest(
        to user: UserID, device id: String?, title: String, body: String
    ) throws(Failure) -> (id: String, devices: Int) {
        // Under the user's lock, no erasure comes between the devices and the spool.
        try state.users[user].update { (document) throws(Failure) in
            let own = document.devices.filter { $0.kind == .device }
            let named = own.filter { device in id.map { device.ids.contains($0) } ?? true }
            guard id == nil || !named.isEmpty else {
                throw .refused(.notFound, "this device is not registered for this user")
            }
            let reached = named.filter { $0.takesMessages(by: state.services) }
            guard !reached.isEmpty else {
                throw .refused(
                    .conflict,
                    own.isEmpty
                        ? "no device is registered for this user; register one first"
                        : "no push service reaches this device at present; register it again")
            }
            try state.admitTest(by: user)
            var notification = Notification(
                id: try newID(for: user), user: user, accepted: now,
                expires: now + .minutes(10), push: PushContent(testing: title, body))
            notification.kind = "test"
            notification.order = try spools.nextOrder(at: now)
            notification.hasOwnExpiration = true
            try spools.accept(notification, to: reached.map { $0.delivery() })
            return (notification.id, reached.count)
        }
    }
}

extension PushContent {
    fileprivate init(testing title: String, _ body: String) {
        self.init(
            type: .alert, priority: 10, collapseID: nil,
            payload: Payload(aps: [
                "alert": ["title": .string(title), "body": .string(body)], "sound": "default",
            ]))
    }
}

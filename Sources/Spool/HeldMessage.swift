import Crypto
import Turnstone

/// A held message, read from its file.
package struct HeldMessage {
    package let notification: Notification
    package let delivery: Delivery
    package let path: String

    /// The id that its sender knows.
    package var id: String { notification.id }

    /// The box that it belongs to; `nil` if its file names no user or no device.
    package var box: HeldBox? {
        guard let user = notification.user,
            let device = delivery.device
        else { return nil }
        return HeldBox(of: user, device)
    }
}

import Crypto
import Turnstone
import Unix

/// A message that is held, as its file has it.
package struct HeldMessage {
    package let notification: Notification
    package let delivery: Delivery
    package let path: String

    /// By which its sender knows it.
    package var id: String { notification.id }

    /// Where it is held.
    package var box: HeldBox? {
        guard let user = notification.user,
            let device = delivery.device
        else { return nil }
        return HeldBox(of: user, device)
    }
}

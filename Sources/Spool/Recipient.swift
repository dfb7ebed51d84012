import Turnstone
import Unix

/// Who gets a push.
package enum Recipient: Hashable {
    case user(UserID)
    /// A device or channel that is no user's as far as the notification says.
    case aim(Delivery.Aim)
}

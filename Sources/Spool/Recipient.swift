import Turnstone

/// The recipient of a push.
package enum Recipient: Hashable {
    case user(UserID)
    /// A device or channel for which the notification names no user.
    case aim(Delivery.Aim)
}

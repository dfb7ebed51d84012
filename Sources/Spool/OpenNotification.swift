import JSON
import Turnstone
import Unix

/// A notification that has devices without an outcome.
package struct OpenNotification {
    package let notification: Notification
    /// As receipts name them.
    package let devices: [String]
    /// Before which it is not tried.
    package let until: Timestamp
    /// Whether that is its sender's wish.
    package let isScheduled: Bool
}

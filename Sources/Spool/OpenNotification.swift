import Turnstone

/// A notification that has devices without an outcome.
package struct OpenNotification {
    package let notification: Notification
    /// The ids of those devices in receipts.
    package internal(set) var devices: [String]
    /// The moment before which it is not tried.
    package let until: Timestamp
    /// Whether its sender requested that moment.
    package let isScheduled: Bool
    /// Whether an attempt had no answer, so that one of those devices may have it.
    package internal(set) var isInDoubt: Bool
}

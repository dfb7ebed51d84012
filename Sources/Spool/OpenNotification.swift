import Turnstone

/// A user's device. Two users may know two phones by one id.
package struct UserDevice: Hashable, Sendable {
    /// `nil` if the device was named by its token, and nobody had registered it.
    package let user: UserID?
    /// The id in receipts.
    package let device: String

    package init(_ user: UserID?, _ device: String) {
        self.user = user
        self.device = device
    }
}

/// A notification that has devices without an outcome.
package struct OpenNotification {
    package let notification: Notification
    /// The ids of those devices in receipts.
    package internal(set) var devices: [String]
    /// For whom it goes to them.
    package let userDevices: [UserDevice]
    /// The moment before which it is not tried.
    package let until: Timestamp
    /// Whether its sender requested that moment.
    package let isScheduled: Bool
    /// Whether an attempt had no answer, so that one of those devices may have it.
    package internal(set) var isInDoubt: Bool
}

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

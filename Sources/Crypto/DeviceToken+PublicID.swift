import Turnstone

extension DeviceToken {
    /// Tells its device from all others, without saying anything about the token: 24 hex digits.
    package var publicID: String {
        // The member `hex` is in the way of the function.
        firstDigits(24, of: Turnstone.hex(SHA256.hash(Array(text.utf8))))
    }
}

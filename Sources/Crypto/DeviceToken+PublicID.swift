import Turnstone

extension DeviceToken {
    /// Identifies the device without revealing anything about the token: 24 hex digits.
    package var publicID: String { Crypto.publicID(of: text) }
}

/// The first 24 hex digits of a text's SHA-256.
package func publicID(of text: String) -> String {
    hex(SHA256.hash(text).prefix(12))
}

import Crypto
import Turnstone

/// The name of a document on its shelf.
package struct DocumentName {
    package let file: String
    /// The folder within the shelf: two hex digits of a SHA-256. `nil` on shelves with few documents.
    package let shard: String?

    /// - Parameter text: any text of any length.
    package init(hashOf text: String) {
        self.init(hash: hex(SHA256.hash(text)))
    }

    /// - Parameter hash: a SHA-256 in hex, used as the name.
    package init(hash: String) {
        self.init(file: hash, shard: firstDigits(2, of: hash))
    }

    /// - Parameter single: letters, digits and `-`, on a shelf with few documents.
    package init(single: String) {
        self.init(file: single, shard: nil)
    }

    package init(file: String, shard: String?) {
        self.file = file
        self.shard = shard
    }
}

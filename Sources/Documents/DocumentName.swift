import Crypto
import Turnstone

/// The name of a document on its shelf.
package struct DocumentName {
    package let file: String
    /// The folder within the shelf: two hex digits of a SHA-256. `nil` on shelves with few documents.
    package let shard: String?
    /// Whether `file` is a SHA-256 in hex.
    private let isHash: Bool

    /// - Parameter text: any text of any length.
    package init(hashOf text: String) {
        self.init(hash: hex(SHA256.hash(text)))
    }

    /// - Parameter hash: a SHA-256 in hex, used as the name.
    package init(hash: String) {
        file = hash
        shard = firstDigits(2, of: hash)
        isHash = true
    }

    /// - Parameter single: letters, digits and `-`, on a shelf with few documents.
    package init(single: String) {
        self.init(file: single, shard: nil)
    }

    package init(file: String, shard: String?) {
        self.file = file
        self.shard = shard
        isHash = false
    }

    /// The document's place among those that share lock files; `nil` on shelves with few documents. It depends
    /// on nothing but the file's name and folder.
    var lock: LockName? {
        guard let shard else { return nil }
        return LockName(shard: shard, digest: isHash ? file : hex(SHA256.hash(file)))
    }
}

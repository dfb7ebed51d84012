import Crypto
import Turnstone

/// The name of a document on its shelf.
package struct DocumentName {
    package let file: String
    /// The folder within the shelf: two hex digits of a SHA-256. `nil` on shelves with few documents.
    let shard: String?

    /// - Parameter text: any text of any length.
    package init(hashOf text: String) {
        self.init(hash: hex(SHA256.hash(Array(text.utf8))))
    }

    /// - Parameter hash: a SHA-256 in hex, used as the name.
    package init(hash: String) {
        self.init(file: hash, shard: firstDigits(2, of: hash))
    }

    /// - Parameter single: letters, digits and `-`, on a shelf with few documents.
    package init(single: String) {
        self.init(file: single, shard: nil)
    }

    fileprivate init(file: String, shard: String?) {
        self.file = file
        self.shard = shard
    }
}

/// A value that names a document on a shelf.
package protocol DocumentKey {
    var documentName: DocumentName { get }
}

extension DocumentName: DocumentKey {
    package var documentName: DocumentName { self }
}

extension UserID: DocumentKey {
    package var documentName: DocumentName {
        let hash = hex(SHA256.hash(Array(text.utf8)))
        // `NAME.json.lock` has to fit into 255 bytes. No other name has `==` in it.
        return DocumentName(
            file: fileName.utf8.count <= 245 ? fileName : "==\(hash)",
            shard: firstDigits(2, of: hash))
    }
}

extension PlayerID: DocumentKey {
    /// The same document as that of the player as a user.
    package var documentName: DocumentName { UserID(self).documentName }
}

extension DeviceToken: DocumentKey {
    package var documentName: DocumentName { DocumentName(hashOf: text) }
}

extension String: DocumentKey {
    package var documentName: DocumentName { DocumentName(hashOf: self) }
}

extension ChannelID: DocumentKey {
    package var documentName: DocumentName { DocumentName(hashOf: text) }
}

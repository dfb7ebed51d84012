import Crypto
import Turnstone

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

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
        let hash = SHA256.hash(text)
        let name = fileName
        // `NAME.json.lock` has to fit into 255 bytes. No other name has `==` in it.
        return DocumentName(
            file: name.utf8.count <= 245 ? name : "==\(hex(hash))", shard: hex(hash.prefix(1)))
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

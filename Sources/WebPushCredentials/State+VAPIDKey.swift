import Documents
import PushServices
import Signatures
import Store
import Turnstone

extension State {
    /// The key that signs for this installation at all push services: the operator's
    /// (`VAPID_PRIVATE_KEY_PATH`), or one that is made when it is first needed and kept in
    /// `credentials/vapid.json`.
    ///
    /// Browsers subscribe with its public half, so another key would lose every subscription. Therefore the
    /// document is no cache: if it is damaged or gone, this fails instead of making another key.
    package func vapidKey(_ settings: WebPushSettings) throws(Failure) -> ES256PrivateKey {
        if let key = settings.key { return key }
        if let known = try vapidDocument.read()?.content["private_key"] {
            return try storedVAPIDKey(known)
        }
        return try vapidDocument.update { (document) throws(Failure) in
            // Another process may have made it since.
            if let known = document.content["private_key"] { return try storedVAPIDKey(known) }
            let made = try ES256PrivateKey.generate()
            document.content["private_key"] = .string(String(decoding: made.pem, as: UTF8.self))
            return made
        }
    }

    private var vapidDocument: StoredDocument<Opaque> {
        let shelf = Shelf<DocumentName, Opaque>(folder: "\(folder)/credentials")
        return shelf[DocumentName(single: "vapid")]
    }

    private func storedVAPIDKey(_ pem: JSONValue) throws(Failure) -> ES256PrivateKey {
        do throws(Failure) {
            return try ES256PrivateKey(pem: Array((pem.string ?? "").utf8))
        } catch {
            let path = vapidDocument.path
            throw Failure(
                .broken,
                "unable to read \(path): private_key is not a P-256 key; restore the file from a backup",
                cause: "corrupt", file: path)
        }
    }
}

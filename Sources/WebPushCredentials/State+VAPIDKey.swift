import Crypto
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
    @export(interface)
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

    /// A digest that tells whether browsers were pushed to with the present key and subject; `nil` before
    /// there is a key.
    package func vapidFingerprint(_ settings: WebPushSettings) throws(Failure) -> String? {
        if let key = settings.key { return settings.fingerprint(with: key) }
        return try vapidDocument.read()?.content["private_key"].map { (known) throws(Failure) in
            settings.fingerprint(with: try storedVAPIDKey(known))
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
                cause: FailureCause.corrupt, file: path)
        }
    }
}

extension WebPushSettings {
    /// The beginning of the SHA-256 of the public key and the subject.
    package func fingerprint(with key: ES256PrivateKey) -> String {
        hex(Array(SHA256.hash(key.publicKey.point + Array(subject.utf8)).prefix(8)))
    }
}

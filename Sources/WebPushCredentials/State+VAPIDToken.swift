import Crypto
import Documents
import PushServices
import Signatures
import Store
import Turnstone
import Unix

extension State {
    /// The token for one push service that all processes share. It is renewed under its document's lock, so
    /// that a hundred processes make only one.
    ///
    /// - Parameters:
    ///   - origin: the origin of the endpoint.
    ///   - key: the installation's key, from ``vapidKey(_:)``.
    ///   - rejected: the header that the push service refused, if any.
    package func vapidToken(
        _ settings: WebPushSettings, key: ES256PrivateKey, origin: String, rejected: String?,
        now: Timestamp
    ) throws(Failure) -> VAPIDToken {
        let name = hex(Array(SHA256.hash(Array(origin.utf8)).prefix(12)))
        let shared = credentials[DocumentName(single: "vapid-\(name)")]
        let publicKey = base64URL(key.publicKey.point)
        func usable(_ record: JSONObject?) -> VAPIDToken? {
            guard let token = record.flatMap({ VAPIDToken($0) }),
                token.isUsable(
                    for: origin, subject: settings.subject, key: publicKey, rejected: rejected,
                    now: now)
            else { return nil }
            return token
        }
        let stored = try shared.read()?.content
        if let known = usable(stored) { return known }
        if stored == nil, try !hasRoomForVAPIDToken() {
            return try VAPIDToken(origin: origin, subject: settings.subject, key: key, at: now)
        }
        return try shared.update { (document) throws(Failure) in
            if let known = usable(document.content) { return known }
            let minted = try VAPIDToken(
                origin: origin, subject: settings.subject, key: key, at: now)
            for member in minted.record.members { document.content[member.name] = member.value }
            return minted
        }
    }

    /// Whether another push service's token may be stored. Users can make up hosts of push services, and each
    /// would leave a file.
    private func hasRoomForVAPIDToken() throws(Failure) -> Bool {
        let names = try systemCalls(Files.names(in: "\(folder)/credentials"))
        return names.count < Self.mostCredentials
    }

    /// The most files in the folder of credentials to which another push service's token is added.
    static var mostCredentials: Int { 512 }
}

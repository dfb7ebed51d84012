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
    @export(interface)
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
        if stored == nil, try !makeRoomForVAPIDToken(at: now) {
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

    /// Removes expired tokens if there are many: each host of a push service has a file, and users can make
    /// up hosts.
    ///
    /// - Returns: whether another push service's token may be stored.
    private func makeRoomForVAPIDToken(at now: Timestamp) throws(Failure) -> Bool {
        let names = try systemCalls(Files.names(in: credentials.folder))
        guard names.count >= Self.mostCredentials else { return true }
        var hasRoom = false
        for name in names where isOfVAPIDToken(name) {
            let path = "\(credentials.folder)/\(name)"
            // Most are younger, and need not be read.
            guard let stamp = try systemCalls(Files.stamp(of: path)),
                Timestamp.systemNow - Timestamp(seconds: stamp.seconds) > Self.vapidTokenAge
            else { continue }
            let document = credentials[
                DocumentName(single: String(decoding: name.utf8.dropLast(5), as: UTF8.self))]
            // Skip a token file that cannot be used.
            do throws(Failure) {
                let isRemoved = try document.remove { content in
                    guard let token = VAPIDToken(content.content) else { return true }
                    return now - token.minted > Self.vapidTokenAge
                }
                hasRoom = hasRoom || isRemoved
            } catch { guard error.isFileSpecific else { throw error } }
        }
        return hasRoom
    }

    /// The most files in the folder of credentials to which another push service's token is added.
    static var mostCredentials: Int { 512 }

    /// A token is over by then (RFC 8292 section 2).
    private static var vapidTokenAge: Interval { .hours(24) }
}

private func isOfVAPIDToken(_ name: String) -> Bool {
    name.utf8.starts(with: "vapid-".utf8) && name.utf8.suffix(5).elementsEqual(".json".utf8)
}

/// A browser's subscription to Web Push, as `PushSubscription.toJSON()` gives it (W3C *Push API*, section 8).
package struct PushSubscription: Equatable, Sendable {
    package let endpoint: PushEndpoint
    /// `p256dh`: the browser's public key, an uncompressed point of P-256 (65 bytes, the first one 4).
    /// Only encryption checks whether it is on the curve.
    package let publicKey: [UInt8]
    /// `auth`: the secret that the browser shares with us (16 bytes, RFC 8291 section 3.2).
    package let secret: [UInt8]

    /// Reads `{"endpoint": "https://…", "keys": {"p256dh": "…", "auth": "…"}}`. Other members, such as
    /// `expirationTime`, are ignored. The keys are base64url, with padding or without it.
    ///
    /// - Parameter name: what sentences call it, such as `subscription`.
    /// - Throws: malformed, with the name of the member that is wrong.
    package init(_ json: JSONValue, name: String = "subscription") throws(Failure) {
        guard let members = json.object else {
            throw .malformed("\(name) must be an object, as PushSubscription.toJSON() gives it")
        }
        guard let address = members["endpoint"]?.string else {
            throw .malformed("\(name).endpoint must be a string")
        }
        do throws(PushEndpoint.Fault) { endpoint = try PushEndpoint(address) } catch {
            throw .malformed("\(name).endpoint \(error.rawValue)")
        }
        guard let keys = members["keys"]?.object else {
            throw .malformed("\(name).keys must be an object with p256dh and auth")
        }
        publicKey = try Self.key("p256dh", of: keys, name, bytes: 65)
        guard publicKey.first == 4 else {
            throw .malformed("\(name).keys.p256dh must be an uncompressed point of P-256")
        }
        secret = try Self.key("auth", of: keys, name, bytes: 16)
    }

    private static func key(
        _ member: String, of keys: JSONObject, _ name: String, bytes count: Int
    ) throws(Failure) -> [UInt8] {
        guard let text = keys[member]?.string,
            let bytes = Self.key(Array(text.utf8)[...], bytes: count)
        else { throw .malformed("\(name).keys.\(member) must be \(count) bytes in base64url") }
        return bytes
    }

    private static func key(_ text: ArraySlice<UInt8>, bytes count: Int) -> [UInt8]? {
        guard text.count <= 128, let bytes = base64URLDecoded(paddedOrNot: text),
            bytes.count == count
        else { return nil }
        return bytes
    }

    /// - Parameters:
    ///   - key: `p256dh` in base64url, with padding or without it.
    ///   - secret: `auth` in the same form.
    /// - Returns: `nil` if one of them is malformed.
    init?(_ address: ArraySlice<UInt8>, key: ArraySlice<UInt8>, secret: ArraySlice<UInt8>) {
        guard let publicKey = Self.key(key, bytes: 65), publicKey.first == 4,
            let secret = Self.key(secret, bytes: 16)
        else { return nil }
        self.publicKey = publicKey
        self.secret = secret
        do throws(PushEndpoint.Fault) { endpoint = try PushEndpoint(address) } catch {
            return nil
        }
    }

    /// The form that ``init(_:name:)`` reads.
    package var json: JSONValue {
        [
            "endpoint": .string(endpoint.text),
            "keys": [
                "p256dh": .string(base64URL(publicKey)), "auth": .string(base64URL(secret)),
            ],
        ]
    }
}

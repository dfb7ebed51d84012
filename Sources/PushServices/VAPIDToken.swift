import JSON
import Signatures
import Turnstone

/// The credential that one push service accepts from us: a JSON Web Token for its origin (RFC 8292 section
/// 2).
package struct VAPIDToken: Equatable, Sendable {
    /// The value of the header `authorization`. It must not be logged.
    package let header: String
    package let minted: Timestamp
    private let origin: String
    private let subject: String
    /// The public half of the key that signed it.
    private let key: String

    /// How long a push service may accept it. RFC 8292 allows 24 hours by the service's clock.
    private static let lifetime = Interval.hours(22)
    /// After this time another one is made: each one that is in use is valid for at least 12 hours more.
    private static let renewal = Interval.hours(10)
    /// Apple: *Sending web push notifications in web apps and browsers*: at most one an hour.
    private static let shortestLife = Interval.hours(1)

    /// Signs a new token.
    ///
    /// - Parameter origin: of the endpoint, such as `https://fcm.googleapis.com`.
    @export(interface)
    package init(
        origin: String, subject: String, key: ES256PrivateKey, at moment: Timestamp
    ) throws(Failure) {
        let claims = JSON.text([
            "aud": .string(origin), "exp": .integer((moment + Self.lifetime).seconds),
            "sub": .string(subject),
        ])
        let signed =
            base64URL(JSON.text(["typ": "JWT", "alg": "ES256"])) + "." + base64URL(claims)
        let token = signed + "." + base64URL(try key.sign(Array(signed.utf8)))
        self.key = base64URL(key.publicKey.point)
        header = "vapid t=\(token), k=\(self.key)"
        minted = moment
        self.origin = origin
        self.subject = subject
    }

    /// Reads the record that all processes share; `nil` if a member is missing.
    @export(interface)
    package init?(_ record: JSONObject) {
        guard let header = record["header"]?.string, let origin = record["origin"]?.string,
            let subject = record["subject"]?.string, let key = record["key"]?.string,
            let minted = record["minted"]?.timestamp
        else { return nil }
        self.header = header
        self.minted = minted
        self.origin = origin
        self.subject = subject
        self.key = key
    }

    /// The record that all processes share; `minted` is in milliseconds since 1970.
    package var record: JSONObject {
        [
            "header": .string(header), "minted": JSONValue(minted), "origin": .string(origin),
            "subject": .string(subject), "key": .string(key),
        ]
    }

    /// Whether the shared token can be used for another message.
    ///
    /// A token from a clock that was ahead is used until that could make it invalid: the push service must
    /// find that it expires within 24 hours.
    ///
    /// - Parameters:
    ///   - key: the public half of the installation's key, in base64url.
    ///   - rejected: the header that the push service refused, if any. Even so a token is kept for an hour.
    package func isUsable(
        for origin: String, subject: String, key: String, rejected: String?, now: Timestamp
    ) -> Bool {
        guard self.origin == origin, self.subject == subject, self.key == key else { return false }
        let age = now - minted
        if age <= .milliseconds(-Self.shortestLife.milliseconds) { return false }
        return age < (rejected == header ? Self.shortestLife : Self.renewal)
    }
}

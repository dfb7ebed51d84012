import JSON
import PushServices
import Turnstone

/// The request for an access token: a JSON Web Token that the service account's key signed (RFC 7523).
///
/// Google: *Using OAuth 2.0 for Server to Server Applications*.
package struct OAuthAssertion {
    /// The permitted use of the access token. Google refuses a longer list to some accounts.
    package static let scope = "https://www.googleapis.com/auth/firebase.messaging"

    /// How long the assertion is valid; Google allows an hour at most.
    private static let lifetime = Interval.hours(1)

    /// The JWT. It must not be logged.
    package let text: String

    package init(_ account: ServiceAccount, at moment: Timestamp) throws(Failure) {
        let header = JSON.text(["alg": "RS256", "typ": "JWT", "kid": .string(account.keyID)])
        let claims = JSON.text([
            "iss": .string(account.clientEmail), "scope": .string(Self.scope),
            "aud": .string(account.tokenURI), "iat": .integer(moment.seconds),
            "exp": .integer((moment + Self.lifetime).seconds),
        ])
        let signed = base64URL(header) + "." + base64URL(claims)
        text = signed + "." + base64URL(try account.key.sign(Array(signed.utf8)))
    }

    /// The body of the request for an access token, as `application/x-www-form-urlencoded`. The JWT consists
    /// of characters that need no encoding.
    package var form: [UInt8] {
        Array(
            "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=\(text)"
                .utf8
        )
    }
}

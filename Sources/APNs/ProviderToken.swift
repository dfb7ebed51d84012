import JSON
import PushServices
import Signatures
import Turnstone

/// The credential that APNs accepts from us: a JSON Web Token, signed with the app's key.
///
/// Apple: *Establishing a token-based connection to APNs*.
package struct ProviderToken: Equatable, Sendable {
    /// The JWT, which follows `bearer ` in the header. It must not be logged.
    package let text: String
    package let keyID: String
    package let teamID: String
    package let minted: Timestamp
    /// The fingerprint of the key that signed it. Two keys can have the same id.
    let fingerprint: String

    /// APNs rejects a provider that makes new tokens more often than this.
    static let renewalPause = Interval.minutes(20)

    /// Signs a new token.
    package init(_ settings: APNsSettings, at moment: Timestamp) throws(Failure) {
        let header = JSON.text(["alg": "ES256", "kid": .string(settings.keyID)])
        let claims = JSON.text(["iss": .string(settings.teamID), "iat": .integer(moment.seconds)])
        let signed = base64URL(header) + "." + base64URL(claims)
        text = signed + "." + base64URL(try settings.key.sign(Array(signed.utf8)))
        keyID = settings.keyID
        teamID = settings.teamID
        minted = moment
        fingerprint = settings.key.fingerprint
    }

    init(text: String, keyID: String, teamID: String, minted: Timestamp, fingerprint: String) {
        self.text = text
        self.keyID = keyID
        self.teamID = teamID
        self.minted = minted
        self.fingerprint = fingerprint
    }

    /// Reads the record that all processes share; `nil` if a member is missing.
    package init?(_ record: JSONObject) {
        guard let text = record["token"]?.string, let keyID = record["key_id"]?.string,
            let teamID = record["team_id"]?.string, let minted = record["minted"]?.timestamp
        else { return nil }
        self.init(
            text: text, keyID: keyID, teamID: teamID, minted: minted,
            fingerprint: record["key"]?.string ?? "")
    }

    /// The record that all processes share; `minted` is in milliseconds since 1970.
    package var record: JSONObject {
        [
            "token": .string(text), "key_id": .string(keyID), "team_id": .string(teamID),
            "minted": JSONValue(minted), "key": .string(fingerprint),
        ]
    }
}

extension ProviderToken {
    /// The next step for the token that all processes share.
    package enum Decision: Equatable, Sendable {
        case keep
        case mint
        /// Keep the token until this time. APNs rejected it as expired, but it is so young that APNs would
        /// reject a new one too: our clock or APNs' is wrong.
        case keepUntil(Timestamp)
    }

    /// Decides whether the shared token is kept or replaced.
    ///
    /// APNs rejects tokens that are older than an hour, and providers that make one more often than every 20
    /// minutes. So a token is replaced after 50 minutes, or after 20 if APNs rejected it.
    ///
    /// APNs accepts a token from a clock that was less than an hour ahead, and might reject a new one for 20
    /// minutes. So such a token is replaced at once only if it is at least 55 minutes ahead, or at least one
    /// minute and APNs rejected it.
    ///
    /// - Parameters:
    ///   - record: the record that the processes share, read under its lock.
    ///   - rejected: the text of the token that APNs rejected, if any.
    package static func decide(
        _ record: ProviderToken?, for settings: APNsSettings, rejected: String? = nil,
        now: Timestamp
    ) -> Decision {
        guard let record, record.keyID == settings.keyID, record.teamID == settings.teamID,
            record.fingerprint == settings.key.fingerprint
        else { return .mint }
        let age = now - record.minted
        if age <= .minutes(-55) { return .mint }
        if record.text == rejected {
            // It is from a clock that was ahead: APNs would not accept it after the pause either.
            if age <= .minutes(-1) { return .mint }
            return age >= renewalPause ? .mint : .keepUntil(record.minted + renewalPause)
        }
        return age >= .minutes(50) ? .mint : .keep
    }
}

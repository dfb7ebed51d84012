import Crypto
import JSON
import PushServices
import Signatures
import Turnstone

/// What proves to APNs who we are: a JSON Web Token, signed with the app's key.
///
/// Apple: *Establishing a token-based connection to APNs*.
package struct ProviderToken: Equatable, Sendable {
    /// As it follows `bearer `.
    ///
    /// Never to be logged.
    package let text: String
    package let keyID: String
    package let teamID: String
    package let minted: Timestamp
    /// Tells the key that signed it from another one of the same id.
    let fingerprint: String

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

    /// Reads the record that all processes share.
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
    /// What is to be done about the token that all processes share.
    package enum Decision: Equatable, Sendable {
        case keep
        case mint
        /// APNs called the token too old, but it is so young that another one would be refused, too: our
        /// clock is wrong, or APNs' is. To be kept until then.
        case keepUntil(Timestamp)
    }

    /// APNs refuses tokens that are older than an hour, and whoever makes one more often than every
    /// 20 minutes.
    ///
    /// So one is made after 50 minutes, or 20 when APNs refused the one that there is. One that was made while our clock
    /// was ahead is good for APNs as long as that is less than an hour: another one might be refused for 20 minutes, so
    /// it is replaced at once only where it is further ahead or where APNs refuses it.
    ///
    /// - Parameters:
    ///   - record: what the processes share, read under its lock.
    ///   - rejected: the token's text that APNs called too old, if it did.
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
            // Made when the clock was ahead: APNs does not take it, and will not in 20 minutes.
            if age <= .minutes(-1) { return .mint }
            return age >= .minutes(20) ? .mint : .keepUntil(record.minted + .minutes(20))
        }
        return age >= .minutes(50) ? .mint : .keep
    }
}

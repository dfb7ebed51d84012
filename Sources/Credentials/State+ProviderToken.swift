import APNs
import Documents
import PushServices
import Store
import Turnstone

extension State {
    /// The provider token that all processes share in the state folder. It is renewed under its document's
    /// lock, so that a thousand processes make only one.
    ///
    /// - Parameter rejected: the text of the token that APNs rejected as expired, if any.
    package func providerToken(
        _ settings: APNsSettings, rejected: String?, now: Timestamp
    ) throws(Failure) -> ProviderToken {
        let shared = credentials[DocumentName(single: "apns-\(settings.teamID)-\(settings.keyID)")]
        return try shared.update { (document) throws(Failure) in
            let shared = ProviderToken(document.content)
            let decision = ProviderToken.decide(
                shared, for: settings, rejected: rejected, now: now)
            if let shared, decision != .mint { return shared }
            let minted = try ProviderToken(settings, at: now)
            for member in minted.record.members { document.content[member.name] = member.value }
            return minted
        }
    }
}

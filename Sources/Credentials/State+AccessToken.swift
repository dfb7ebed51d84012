import Documents
import FCM
import PushServices
import Store
import Turnstone

extension State {
    /// The access token for FCM that all processes share in the state folder. A process claims its fetch
    /// under the document's lock and fetches it without the lock, so that a thousand processes make one fetch
    /// and none waits for the network with the lock held.
    ///
    /// - Parameter now: the wall clock.
    package func accessTokens(
        _ settings: FCMSettings, now: @escaping () -> Timestamp
    ) -> AccessTokenStore {
        let shared = credentials[DocumentName(single: settings.tokenDocument)]
        return AccessTokenStore(now: now) { (change) throws(Failure) in
            // Most questions change nothing, and need no lock.
            let known = try shared.read()?.content ?? [:]
            let record = AccessTokenRecord(known)
            var changed = record
            let answer = change(&changed, now())
            if changed == record { return answer }
            return try shared.update { document in
                var record = AccessTokenRecord(document.content)
                let answer = change(&record, now())
                record.write(to: &document.content)
                return answer
            }
        }
    }
}

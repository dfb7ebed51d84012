import Gateways
import HTTP2
import PushServices
import Turnstone
import Unix

/// The access token for one sender, from the record that all processes share. It fetches a new one if no
/// other process does, and never waits for it.
package final class AccessTokens {
    private let account: ServiceAccount
    private let context: TLSContext
    private let store: AccessTokenStore
    /// This process in the record.
    private let holder: AccessTokenRecord.Holder
    private var token: AccessToken?
    /// The text of the token that FCM refused.
    private var rejected: String?
    private var fetch: TokenFetch?
    private var nextQuestion = Instant.first

    /// Counts the tokens, so that a refusal can be told to concern an older one.
    package private(set) var number = 0
    /// The value of `authorization`; `nil` while there is no token.
    package private(set) var bearer: String?
    /// Why there is no token, and when there may be one.
    package private(set) var trouble: GatewayTrouble?

    /// How often the record is read while another process fetches a token.
    private static let patience = Interval.milliseconds(100)

    package init(
        _ account: ServiceAccount, _ context: TLSContext, _ store: AccessTokenStore
    ) throws(Failure) {
        self.account = account
        self.context = context
        self.store = store
        holder = AccessTokenRecord.Holder(name: hex(try randomBytes(8)), address: .own)
    }

    /// The connection of the fetch that is under way, to be waited for together with the others.
    package var connection: ClientConnection? { fetch?.connection }

    /// Records that FCM refused the present token.
    package func reject() {
        rejected = token?.text
        drop()
        nextQuestion = .first
    }

    /// Does everything that can be done without waiting.
    ///
    /// - Parameters:
    ///   - isNeeded: whether there is something to send.
    ///   - until: when this must be called again even if nothing arrives; moved to an earlier time if
    ///     necessary.
    /// - Throws: if the record cannot be read or written and there is no token.
    package func step(isNeeded: Bool, until: inout Instant, now: Instant) throws(Failure) {
        if let result = fetch?.step(until: &until, at: store.now(), now: now) {
            fetch = nil
            try finish(result)
            nextQuestion = .first
        }
        guard isNeeded, fetch == nil else { return }
        if nextQuestion <= now {
            do throws(Failure) { try ask(now: now) } catch {
                nextQuestion = now + .seconds(1)
                // Another process holds the record's lock for a moment only.
                guard bearer == nil, error.cause != FailureCause.busy else { return }
                throw error
            }
        }
        until = min(until, nextQuestion)
        // The fetch has just begun.
        if let fetch { until = min(until, fetch.connection.step(now: now)) }
    }

    private func ask(now: Instant) throws(Failure) {
        let (rejected, holder) = (rejected, holder)
        let decision = try store.update { record, moment in
            record.decide(rejected: rejected, holder: holder, now: moment)
        }
        trouble = nil
        switch decision {
        case .use(let token, let pause):
            use(token)
            nextQuestion = now + pause
        case .fetch(let old):
            if let old { use(old) } else { drop() }
            try startFetch(now: now)
        case .wait(let old):
            if let old { use(old) } else { drop() }
            nextQuestion = now + Self.patience
        case .fail(let reason, let pause):
            drop()
            nextQuestion = now + pause
            trouble = GatewayTrouble(reason: reason, until: nextQuestion)
        case nil: break
        }
    }

    private func startFetch(now: Instant) throws(Failure) {
        do throws(Failure) {
            fetch = try TokenFetch(account, context, at: store.now(), now: now)
        } catch {
            try finish(
                .failure(
                    TokenFailure(
                        reason: "\(FCMSettings.noToken)\(error.sentence)",
                        isLasting: error.disposition == .misconfigured)))
        }
        nextQuestion = now
    }

    private func finish(_ result: Result<TokenGrant, TokenFailure>) throws(Failure) {
        let holder = holder
        _ = try store.update { record, moment in
            switch result {
            case .success(let grant): record.succeed(grant, now: moment)
            case .failure(let failed): record.fail(failed, holder: holder, now: moment)
            }
            return nil
        }
    }

    private func use(_ token: AccessToken) {
        guard token != self.token else { return }
        self.token = token
        bearer = "Bearer " + token.text
        number += 1
    }

    private func drop() {
        token = nil
        bearer = nil
    }
}

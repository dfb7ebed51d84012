import Turnstone

/// The `authorization` header of a gateway's requests, made from the shared provider token.
struct ProviderBearer {
    private(set) var text = ""
    /// Whether APNs rejected the token as expired.
    private(set) var isRejected = false
    private var token = ""
    private var lastRequest = Instant.first

    mutating func reject() { isRejected = true }

    /// Asks the source for the shared token. Another process may have renewed it in the meantime.
    mutating func renew(now: Instant, _ source: APNsGateway.TokenSource) throws(Failure) {
        lastRequest = now
        let rejected = isRejected ? token : nil
        token = try source(rejected).text
        text = "bearer " + token
        isRejected = token == rejected
    }

    /// Returns whether there is another token than the one that APNs has just rejected as invalid. The source
    /// makes one if ours may be from a clock that was ahead. With a wrong key there is no other token.
    mutating func hasOtherToken(_ source: APNsGateway.TokenSource) -> Bool {
        if isRejected { return true }
        do throws(Failure) { return try source(token).text != token } catch { return false }
    }

    /// Renews the token during a connection, at most once a minute. If that fails, the current token stays.
    mutating func refresh(now: Instant, _ source: APNsGateway.TokenSource) {
        guard now - lastRequest >= .minutes(1) else { return }
        do throws(Failure) { try renew(now: now, source) } catch {}
    }
}

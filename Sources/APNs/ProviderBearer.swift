import Turnstone

/// The `authorization` that a gateway sends, taken from the shared provider token.
struct ProviderBearer {
    private(set) var text = ""
    /// Whether APNs called it too old.
    private(set) var isRejected = false
    private var token = ""
    private var asked = Instant.first

    mutating func reject() { isRejected = true }

    /// Asks for the shared token, which may be another one by now.
    mutating func renew(now: Instant, _ source: APNsGateway.TokenSource) throws(Failure) {
        asked = now
        let rejected = isRejected ? token : nil
        token = try source(rejected).text
        text = "bearer " + token
        isRejected = token == rejected
    }

    /// Whether there is another token than the one that APNs has just called invalid. One is made where ours may have
    /// been made by a clock that was ahead; of a wrong key there is none.
    mutating func hasOther(_ source: APNsGateway.TokenSource) -> Bool {
        if isRejected { return true }
        do throws(Failure) { return try source(token).text != token } catch { return false }
    }

    /// The same while a connection goes on: once a minute, and with the token that there is if no other is
    /// to be had now.
    mutating func refresh(now: Instant, _ source: APNsGateway.TokenSource) {
        guard now - asked >= .minutes(1) else { return }
        do throws(Failure) { try renew(now: now, source) } catch {}
    }
}

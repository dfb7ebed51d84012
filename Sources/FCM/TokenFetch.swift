import HTTP2
import PushServices
import Turnstone
import Unix

/// One attempt to fetch an access token, over a connection of its own. It never waits: the caller steps it
/// together with its other connections.
///
/// A request that the server has certainly not processed is sent once more, over another connection.
final class TokenFetch {
    /// The longest time that it takes, which is below ``AccessTokenRecord/claimLife``.
    static let limit = Interval.seconds(15)

    private(set) var connection: ClientConnection
    private let address: GatewayAddress
    private let context: TLSContext
    private let fields: HeaderFields
    private let body: [UInt8]
    private let deadline: Instant
    private var isSent = false
    private var isRepeated = false

    /// Starts to connect.
    ///
    /// - Parameter moment: the wall clock's time, for the assertion.
    /// - Throws: a failure if the assertion cannot be signed or the server's name cannot be resolved.
    init(
        _ account: ServiceAccount, _ context: TLSContext, at moment: Timestamp, now: Instant
    ) throws(Failure) {
        body = try OAuthAssertion(account, at: moment).form
        address = account.tokenAddress
        self.context = context
        var fields = HeaderFields()
        fields.append(":method", "POST")
        fields.append(":scheme", "https")
        fields.append(":authority", address.authority)
        fields.append(":path", account.tokenPath)
        fields.append("content-type", "application/x-www-form-urlencoded")
        fields.append("content-length", String(body.count))
        fields.append("accept", "application/json")
        self.fields = fields
        connection = try Self.connection(to: address, context, now: now)
        deadline = now + Self.limit
    }

    private static func connection(
        to address: GatewayAddress, _ context: TLSContext, now: Instant
    ) throws(Failure) -> ClientConnection {
        var limits = ClientLimits()
        limits.connect = .seconds(5)
        limits.request = .seconds(10)
        limits.silence = .seconds(5)
        return try ClientConnection(
            to: address.host, port: address.port, context, limits: limits, now: now)
    }

    /// Does everything that can be done without waiting.
    ///
    /// - Parameter until: when this must be called again even if nothing arrives; moved to an earlier time if
    ///   necessary.
    /// - Returns: the result once there is one.
    func step(
        until: inout Instant, at moment: Timestamp, now: Instant
    ) -> Result<TokenGrant, TokenFailure>? {
        until = min(until, deadline, connection.step(now: now))
        if !isSent, connection.submit(tag: 0, fields, body: body, now: now) {
            isSent = true
            connection.flush()
        }
        for event in connection.takeEvents() {
            switch event {
            case .answered(_, let answer): return Self.result(answer, at: moment)
            case .refused:
                return sendAgain(orElse: "the server refused the request", until: &until, now: now)
            case .lost(_, let reason): return .failure(unreachable(reason))
            }
        }
        if case .closed(let reason) = connection.state {
            // It had no time to take the request.
            guard connection.goAway != nil else { return .failure(unreachable(reason)) }
            return sendAgain(orElse: reason, until: &until, now: now)
        }
        return now < deadline ? nil : .failure(unreachable("time-out"))
    }

    private func sendAgain(
        orElse reason: String, until: inout Instant, now: Instant
    ) -> Result<TokenGrant, TokenFailure>? {
        guard !isRepeated else { return .failure(unreachable(reason)) }
        isRepeated = true
        isSent = false
        do throws(Failure) {
            connection = try Self.connection(to: address, context, now: now)
        } catch { return .failure(unreachable(error.sentence)) }
        until = min(until, connection.step(now: now))
        return nil
    }

    private static func result(
        _ answer: ClientEvent.Answer, at moment: Timestamp
    ) -> Result<TokenGrant, TokenFailure> {
        guard answer.status == 200 else { return .failure(TokenFailure(answer, now: moment)) }
        guard let grant = answer.text.flatMap(TokenGrant.init) else {
            let reason = "\(FCMSettings.noToken)the token server's answer cannot be read"
            return .failure(TokenFailure(reason: reason, isLasting: false))
        }
        return .success(grant)
    }

    private func unreachable(_ reason: String) -> TokenFailure {
        // TLS ends with this alert if the server speaks none of the protocols that we offer (RFC 7301 section
        // 3.2), or it ignores our offer.
        let isOld =
            reason.hasSuffix("no application protocol")
            || reason == "the peer does not speak HTTP/2"
        let words = isOld ? "the token server speaks only HTTP/1.1; HTTP/2 is required" : reason
        return TokenFailure(reason: "\(FCMSettings.noToken)\(words)", isLasting: isOld)
    }
}

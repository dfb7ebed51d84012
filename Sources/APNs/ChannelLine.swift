import HTTP2
import PushServices
import Turnstone
import Unix

/// Asks one question and waits for its answer.
struct ChannelLine {
    let address: APNsSettings.Address
    let context: TLSContext
    let token: APNsGateway.TokenSource

    /// The longest that a question may take: the caller waits, too.
    private static let patience = Interval.seconds(8)

    /// Ten thousand channels' ids, and a little.
    private static let longestAnswer = 4 << 20

    /// Asks, once more with another provider token where APNs calls the first one too old.
    func ask(
        _ method: String, _ path: String, _ more: [(String, String)], _ body: [UInt8]
    ) throws(Failure) -> ClientEvent.Answer {
        let deadline = Instant.now + Self.patience
        var rejected: String?
        while true {
            let bearer = try token(rejected).text
            guard bearer != rejected else {
                // There is no newer token than the one that APNs refuses: somebody's clock is wrong.
                throw Failure(
                    .later(seconds: 1200), "unable to ask APNs: it calls our newest token too old",
                    cause: "ExpiredProviderToken")
            }
            var fields = HeaderFields()
            fields.append(":method", method)
            fields.append(":scheme", "https")
            fields.append(":authority", address.authority)
            fields.append(":path", path)
            fields.append("authorization", "bearer " + bearer, indexed: false)
            for (name, value) in more { fields.append(name, value, indexed: false) }
            let answer = try exchange(fields, body, until: deadline)
            guard reason(answer) == "ExpiredProviderToken", rejected == nil else { return answer }
            rejected = bearer
        }
    }

    private func exchange(
        _ fields: HeaderFields, _ body: [UInt8], until deadline: Instant
    ) throws(Failure) -> ClientEvent.Answer {
        var limits = ClientLimits()
        limits.connect = .seconds(5)
        limits.answerBody = Self.longestAnswer
        var now = Instant.now
        let connection = try ClientConnection(
            to: address.host, port: address.port, context, limits: limits, now: now)
        defer { connection.close() }
        var isSent = false
        while now < deadline {
            let moment = connection.step(now: now)
            if !isSent { isSent = connection.submit(tag: 0, fields, body: body, now: now) }
            for event in connection.takeEvents() {
                switch event {
                case .answered(_, let answer): return answer
                case .refused: throw unreachable("it refuses the request")
                case .lost(_, let reason): throw unreachable(reason)
                }
            }
            if case .closed(let reason) = connection.state { throw unreachable(reason) }
            let pause = max(.seconds(0), min(moment, deadline) - now)
            ClientConnection.wait(for: [connection], upTo: pause)
            now = Instant.now
        }
        throw unreachable("no answer")
    }

    private func unreachable(_ reason: String) -> Failure {
        Failure(
            .later(seconds: 10), "unable to ask APNs about channels: \(reason)",
            cause: "unreachable")
    }
}

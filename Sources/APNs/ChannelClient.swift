import HTTP2
import PushServices
import Turnstone
import Unix

/// Sends one channel management request and waits for its answer, on a connection of its own.
struct ChannelClient {
    let address: APNsSettings.Address
    let context: TLSContext
    let token: APNsGateway.TokenSource

    /// The longest time for a request and its answer, because the caller of our program waits too.
    private static let timeout = Interval.seconds(8)

    /// The largest answer in bytes: more than the ids of 10,000 channels need.
    private static let maximumAnswer = 4 << 20

    /// Sends a request, and once more with another provider token if APNs rejects the first one as expired.
    ///
    /// - Throws: a failure to retry in 10 seconds if APNs cannot be reached or does not answer, and in 20
    ///   minutes if it rejects the newest provider token that we can have.
    func ask(
        _ method: String, _ path: String, _ extraFields: [(String, String)], _ body: [UInt8]
    ) throws(Failure) -> ClientEvent.Answer {
        let deadline = Instant.now + Self.timeout
        var rejected: String?
        while true {
            let bearer = try token(rejected).text
            guard bearer != rejected else {
                // APNs rejects the newest token that we can have: our clock or APNs' is wrong.
                throw Failure(
                    .later(seconds: Int(ProviderToken.renewalPause.seconds)),
                    "unable to manage channels: APNs refused our provider token: "
                        + "check this machine's clock",
                    cause: "ExpiredProviderToken")
            }
            var fields = HeaderFields()
            fields.append(":method", method)
            fields.append(":scheme", "https")
            fields.append(":authority", address.authority)
            fields.append(":path", path)
            fields.append("authorization", "bearer " + bearer, indexed: false)
            for (name, value) in extraFields { fields.append(name, value, indexed: false) }
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
        limits.answerBody = Self.maximumAnswer
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
                case .refused: throw unreachable("the server refused the request")
                case .lost(_, let reason): throw unreachable(reason)
                }
            }
            if case .closed(let reason) = connection.state { throw unreachable(reason) }
            let pause = max(.seconds(0), min(moment, deadline) - now)
            ClientConnection.wait(for: [connection], upTo: pause)
            now = Instant.now
        }
        throw unreachable("no answer in \(Self.timeout.seconds) s")
    }

    private func unreachable(_ reason: String) -> Failure {
        Failure(
            .later(seconds: 10),
            "unable to ask APNs about channels at \(address.fault(reason)); retry in 10 s",
            cause: "unreachable")
    }
}

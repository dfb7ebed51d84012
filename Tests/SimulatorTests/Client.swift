import HTTP2
import JSON
import TestSupport
import Turnstone
import Unix

/// A client of the simulator, one connection to one of its addresses.
final class Client {
    enum Peer: String {
        case ogs
        case apns
        case management
        case fcm
    }

    private let connection: ClientConnection
    private var tag = 0

    init(_ simulator: Simulator, _ peer: Peer) throws {
        let address = simulator.addresses[peer.rawValue]?.string ?? ""
        guard let port = address.split(separator: ":").last.flatMap({ UInt16($0) }) else {
            throw TestFailure("no port in \(address)")
        }
        var limits = ClientLimits()
        limits.answerBody = 1 << 24
        connection = try ClientConnection(
            to: "127.0.0.1", port: port,
            .client(authorities: simulator.addresses["ca"]?.string), limits: limits,
            now: Instant.now)
        while connection.state == .connecting || connection.maximumStreams == 0 {
            turn()
            if case .closed(let reason) = connection.state { throw TestFailure(reason) }
        }
    }

    var maximumStreams: Int { connection.maximumStreams }
    var goAway: GoAway? { connection.goAway }
    var state: ClientConnection.State { connection.state }

    /// Does one request.
    func ask(_ fields: [(String, String)], body: String = "") throws -> ClientEvent {
        try ask([fields], body: body)[0]
    }

    /// Does requests at once, without regard to how many the server takes.
    ///
    /// - Returns: their outcomes, in their order.
    func ask(_ requests: [[(String, String)]], body: String = "") throws -> [ClientEvent] {
        let first = tag
        try send(requests, body: body)
        return try events(since: first)
    }

    /// Sends requests without waiting for their outcomes.
    func send(_ requests: [[(String, String)]], body: String = "") throws {
        let deadline = Instant.now + .milliseconds(20_000)
        for request in requests {
            var fields = HeaderFields()
            for (name, value) in request { fields.append(name, value) }
            while !connection.submit(
                tag: tag, fields, body: Array(body.utf8), now: Instant.now)
            {
                // The server's window may be full, which the next turns mend.
                guard connection.state == .open, Instant.now < deadline else {
                    throw TestFailure("the connection takes no request: \(connection.state)")
                }
                turn()
            }
            tag += 1
        }
        turn()
    }

    /// The outcomes of the requests from number `first` on, once all are known.
    func events(since first: Int) throws -> [ClientEvent] {
        var events = [ClientEvent?](repeating: nil, count: tag - first)
        let deadline = Instant.now + .milliseconds(20_000)
        while events.contains(nil) {
            guard Instant.now < deadline else { throw TestFailure("no answer") }
            for event in connection.takeEvents() { events[event.tag - first] = event }
            if events.contains(nil) { turn() }
        }
        return events.compactMap { $0 }
    }

    /// Does one request and takes its answer for granted.
    func answer(_ fields: [(String, String)], body: String = "") throws -> ClientEvent.Answer {
        let event = try ask(fields, body: body)
        guard case .answered(_, let answer) = event else { throw TestFailure("\(event)") }
        return answer
    }

    private func turn() {
        ClientConnection.wait(for: [connection], upTo: .milliseconds(100))
        connection.step(now: Instant.now)
    }
}

extension ClientEvent {
    var tag: Int {
        switch self {
        case .answered(let tag, _), .refused(let tag), .lost(let tag, _): tag
        }
    }

    /// The answer's status, 0 for a refusal, and -1 for a loss.
    var status: Int {
        switch self {
        case .answered(_, let answer): answer.status
        case .refused: 0
        case .lost: -1
        }
    }
}

extension ClientEvent.Answer {
    var json: JSONObject? { try? JSON.parse(body).object }

    /// APNs' `reason`.
    var reason: String? { json?["reason"]?.string }
}

import Foundation
import OGS
import Synchronization
import TestSupport
import Testing
import Turnstone
import Unix

/// The client against a server that misbehaves.
///
/// Not tested here: TLS and HTTP/2, which the programs' tests have.
@Suite struct OGSClientTests {
    init() {
        ThisProcess.ignoreBrokenPipes()
    }

    /// Looks at the players of these numbers, in this order.
    private func look(
        _ server: LoopbackServer, _ players: [Int64], tag: String? = nil, contact: String = "",
        seconds: Int64 = 60, pace: Interval = .seconds(0), seen: ((Int64) -> Void)? = nil
    ) throws -> [(player: Int64, outcome: OGSOutcome)] {
        try look(
            at: server.base, players, tag: tag, contact: contact, seconds: seconds, pace: pace,
            seen: seen)
    }

    private func look(
        at base: String, _ players: [Int64], tag: String? = nil, contact: String = "",
        seconds: Int64 = 60, pace: Interval = .seconds(0), seen: ((Int64) -> Void)? = nil
    ) throws -> [(player: Int64, outcome: OGSOutcome)] {
        var variables = Variables()
        variables.offer("OGS_BASE_URL", base)
        variables.offer("OGS_CONTACT", contact)
        var rest = players[...]
        var outcomes: [(Int64, OGSOutcome)] = []
        var run = try OGSClient(OGSClient.Settings(variables)).run(
            until: Instant.now + .seconds(seconds))
        while true {
            while try run.advance(), let player = rest.popFirst().flatMap(PlayerID.init(number:)) {
                run.add(OGSClient.Request(player, entityTag: tag), after: pace)
            }
            guard run.isOpen else { break }
            for (request, outcome) in run.step() {
                outcomes.append((request.player.number, outcome))
                seen?(request.player.number)
            }
        }
        for request in run.giveUp() { outcomes.append((request.player.number, .notLooked)) }
        return outcomes
    }

    private func outcome(
        tag: String? = nil, _ answer: LoopbackServer.Answer?
    ) throws -> OGSOutcome {
        let server = LoopbackServer { _ in answer }
        let outcomes = try look(server, [42], tag: tag)
        #expect(outcomes.count == 1)
        let outcome = try #require(outcomes.first).outcome
        guard case .outage(let reason) = outcome else { return outcome }
        return .outage(reason.replacingOccurrences(of: server.base, with: "BASE"))
    }

    @Test func aLookFindsThePlayersGames() throws {
        let body = answer([game(1), game(2), .null])
        let server = LoopbackServer { _ in
            LoopbackServer.Answer(headers: [#"ETag: W/"abc""#], body: body)
        }
        let outcomes = try look(server, [42])
        let found = try #require(ActiveGames(answer: body))
        #expect(outcomes.map(\.outcome) == [.games(found, entityTag: #"W/"abc""#)])
        #expect(found.games.count == 2 && found.skipped == 1)
    }

    @Test func aPackedAnswerIsUnpacked() throws {
        let body = answer([game(1)])
        let result = try outcome(
            LoopbackServer.Answer(headers: ["Content-Encoding: gzip"], body: gzip(body)))
        #expect(try result == .games(#require(ActiveGames(answer: body)), entityTag: nil))
    }

    @Test func aRequestIsPolite() throws {
        let server = LoopbackServer { _ in LoopbackServer.Answer(status: 304) }
        _ = try look(server, [42], tag: #""known""#)
        let request = try #require(server.requests.first)
        #expect(request.path == "/api/v1/players/42/full")
        #expect(request.headers["user-agent"] == "Turnstone/1.0")
        #expect(request.headers["accept-encoding"] == "gzip")
        #expect(request.headers["if-none-match"] == #""known""#)
        #expect(request.headers["cookie"] == nil)
    }

    @Test(
        "the User-Agent names the contact",
        arguments: ["ops@example.org", "https://example.org/contact?about=turns"])
    func contact(contact: String) throws {
        let server = LoopbackServer { _ in LoopbackServer.Answer(status: 304) }
        _ = try look(server, [42], tag: #""known""#, contact: contact)
        let request = try #require(server.requests.first)
        #expect(request.headers["user-agent"] == "Turnstone/1.0 (+\(contact))")
    }

    @Test(
        "a status says what to do",
        arguments: [
            (304, [], .unchanged), (404, [], .unknownPlayer), (429, [], .backOff(nil)),
            (429, ["Retry-After: 17"], .backOff(.seconds(17))),
            (503, ["Retry-After: 60"], .backOff(.seconds(60))),
            (503, ["Retry-After: whenever"], .backOff(nil)),
            (503, ["Retry-After: 0"], .backOff(nil)),
            (503, ["Retry-After: 99999999999999999999999"], .backOff(.hours(24))),
            (500, [], .outage("Online-Go.com answered 500 at BASE")),
            (502, [], .outage("Online-Go.com answered 502 at BASE")),
            (403, [], .outage("Online-Go.com answered 403 at BASE. Check OGS_BASE_URL")),
            (
                301, ["Location: http://127.0.0.1:1/"],
                .outage("Online-Go.com answered 301 at BASE. Check OGS_BASE_URL")
            ),
            (204, [], .outage("Online-Go.com answered 204 at BASE")),
        ] as [(Int, [String], OGSOutcome)])
    func status(status: Int, headers: [String], expected: OGSOutcome) throws {
        let answer = LoopbackServer.Answer(
            status: status, headers: headers, body: Array("{}".utf8))
        #expect(try outcome(tag: #""t""#, answer) == expected)
    }

    @Test func aDateMayTellWhenToComeBack() throws {
        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.timeZone = TimeZone(identifier: "GMT")
        format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        let date = format.string(from: Date(timeIntervalSinceNow: 1000))
        let result = try outcome(
            LoopbackServer.Answer(status: 503, headers: ["Retry-After: \(date)"]))
        guard case .backOff(let wish?) = result else {
            Issue.record("\(result)")
            return
        }
        #expect(wish > .seconds(900) && wish <= .seconds(1001))
    }

    @Test func nothingNewIsNoAnswerToWhoKnowsNothing() throws {
        #expect(
            try outcome(LoopbackServer.Answer(status: 304))
                == .outage("Online-Go.com answered 304 at BASE. Check OGS_BASE_URL"))
    }

    @Test(
        "a page in place of an answer is an outage",
        arguments: [200, 404, 500])
    func page(status: Int) throws {
        let page = Array("\n<!DOCTYPE html><html>Down for maintenance</html>".utf8)
        let result = try outcome(
            LoopbackServer.Answer(status: status, headers: ["Content-Type: text/html"], body: page))
        guard case .outage = result else {
            Issue.record("\(result)")
            return
        }
    }

    @Test(
        "an answer that did not arrive whole is an outage",
        arguments: [
            nil, LoopbackServer.Answer(body: [], promised: 100),
            LoopbackServer.Answer(body: Array("{\"active_games\":[]}".utf8), promised: 100),
            LoopbackServer.Answer(headers: ["Content-Encoding: gzip"], body: Array("{}".utf8)),
            LoopbackServer.Answer(body: Array("{\"active_games\":[".utf8)),
        ])
    func broken(answer: LoopbackServer.Answer?) throws {
        guard case .outage = try outcome(answer) else {
            Issue.record("no outage")
            return
        }
    }

    @Test func anEndlessAnswerIsGivenUp() throws {
        let body = [UInt8](repeating: 0x20, count: 65 << 20)
        #expect(
            try outcome(LoopbackServer.Answer(body: body))
                == .outage(
                    "Online-Go.com gave no usable answer at BASE: the answer is too large"))
    }

    @Test func anEntityTagThatCannotBeSentBackIsForgotten() throws {
        let tag = String(repeating: "x", count: 500)
        let result = try outcome(
            LoopbackServer.Answer(headers: ["ETag: \"\(tag)\""], body: answer([])))
        #expect(result == .games(ActiveGames(), entityTag: nil))
    }

    @Test func aServerThatIsNotThereIsAnOutage() throws {
        let base = "http://127.0.0.1:1"
        let outcomes = try look(at: base, [42]).map(\.outcome)
        let reason =
            """
            Online-Go.com cannot be reached at \(base): connection refused (ECONNREFUSED). Check \
            OGS_BASE_URL
            """
        #expect(outcomes == [.outage(reason)])
    }

    @Test func everyPlayerIsLookedAtOnce() throws {
        let body = answer([])
        let server = LoopbackServer { _ in LoopbackServer.Answer(body: body) }
        for count: Int64 in [1, 2, 300] {
            let outcomes = try look(server, Array(1...count))
            #expect(outcomes.map(\.player).sorted() == Array(1...count))
            #expect(outcomes.allSatisfy { $0.outcome == .games(ActiveGames(), entityTag: nil) })
        }
    }

    @Test func oneSlowPlayerDelaysNobody() throws {
        let body = answer([])
        let othersSeen = DispatchSemaphore(value: 0)
        let server = LoopbackServer { request in
            if request.path.contains("/1/") { othersSeen.wait() }
            return LoopbackServer.Answer(body: body)
        }
        var left = 40
        let outcomes = try look(server, Array(1...41)) { player in
            guard player != 1 else { return }
            left -= 1
            if left == 0 { othersSeen.signal() }
        }
        #expect(outcomes.last?.player == 1)
        #expect(Set(outcomes.map(\.player)) == Set(1...41))
        #expect(outcomes.allSatisfy { $0.outcome == .games(ActiveGames(), entityTag: nil) })
    }

    @Test func aFailingPlayerDoesNotEndTheRun() throws {
        let body = answer([])
        let server = LoopbackServer { request in
            request.path.contains("/2/") ? nil : LoopbackServer.Answer(body: body)
        }
        let outcomes = try look(server, [1, 2, 3])
        let failed = outcomes.filter { $0.outcome != .games(ActiveGames(), entityTag: nil) }
        #expect(outcomes.count == 3)
        #expect(failed.map(\.player) == [2])
    }

    @Test func afterARefusalNobodyElseIsAsked() throws {
        let server = LoopbackServer { _ in LoopbackServer.Answer(status: 429) }
        let outcomes = try look(server, Array(1...100))
        // Those that were under way at the first refusal are refused too.
        #expect(server.requests.count < 20)
        #expect(outcomes.count < 21)
        #expect(outcomes.allSatisfy { $0.outcome == .backOff(nil) || $0.outcome == .notLooked })
    }

    @Test func whoHasNoTimeLeftIsReported() throws {
        let server = LoopbackServer { _ in LoopbackServer.Answer(body: []) }
        let outcomes = try look(server, [1, 2], seconds: 2, pace: .seconds(100))
        #expect(server.requests.isEmpty)
        #expect(outcomes.map(\.player) == [1])
        #expect(outcomes.map(\.outcome) == [.notLooked])
    }

    @Test func whoIsUnderWayAtTheEndIsReported() throws {
        let ended = DispatchSemaphore(value: 0)
        defer { ended.signal() }
        let server = LoopbackServer { _ in
            ended.wait()
            return nil
        }
        let outcomes = try look(server, [1], seconds: 1)
        #expect(outcomes.map(\.player) == [1])
    }

    @Test(
        "a wrong variable is named",
        arguments: [
            ("OGS_BASE_URL", "ftp://online-go.com"), ("OGS_BASE_URL", "online-go.com"),
            ("OGS_BASE_URL", "https://"), ("OGS_BASE_URL", "https://a b"),
            ("OGS_BASE_URL", "https://a/?q"), ("OGS_BASE_URL", "https://a/#f"),
            ("OGS_BASE_URL", "https:///path"), ("OGS_BASE_URL", "https://user:secret@a"),
            ("OGS_CA_FILE", "/nonexistent/ca.pem"), ("OGS_CONTACT", "somebody"),
            ("OGS_CONTACT", "ops@example.org\r\nCookie: a=b"), ("OGS_CONTACT", "a@b@c"),
            ("OGS_CONTACT", "ops@"), ("OGS_CONTACT", "ops@example.org)"),
            ("OGS_CONTACT", "https://a b"), ("OGS_CONTACT", "https://é"),
            ("OGS_CONTACT", "https://" + String(repeating: "a", count: 200)),
        ])
    func wrong(name: String, value: String) throws {
        var variables = Variables()
        variables.offer(name, value)
        do {
            _ = try OGSClient.Settings(variables)
            Issue.record("\(value) is taken")
        } catch {
            #expect(error.disposition == .misconfigured)
            #expect(error.sentence.contains(name))
        }
    }
}

/// The bytes in gzip's form (RFC 1952), stored as they are: at most 65,535.
private func gzip(_ bytes: [UInt8]) -> [UInt8] {
    func little(_ number: UInt32, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }
    var sum: UInt32 = .max
    for byte in bytes {
        sum ^= UInt32(byte)
        for _ in 0..<8 { sum = sum >> 1 ^ (sum & 1 == 1 ? 0xedb8_8320 : 0) }
    }
    let size = UInt32(bytes.count)
    let head: [UInt8] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff, 1]
    return head + little(size, 2) + little(~size, 2) + bytes + little(~sum, 4) + little(size, 4)
}

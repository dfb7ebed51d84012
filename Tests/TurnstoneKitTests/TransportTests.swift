import Foundation
import Synchronization
import TestSupport
import Testing
import TurnstoneKit

/// The transports against a server that misbehaves. That of Apple's systems is tried here as well.
@Suite(.ownExecutor(seconds: 120)) struct TransportTests {
    enum Kind: CaseIterable {
        case standard, urlSession

        func transport(timeout: Double = 20) -> any Transport {
            switch self {
            case .standard: DefaultTransport(timeout: timeout)
            case .urlSession: URLSessionTransport(timeout: timeout)
            }
        }
    }

    private func client(
        of server: LoopbackServer, _ kind: Kind = .standard, timeout: Double = 20
    ) throws -> PlayerClient {
        PlayerClient(
            at: try #require(URL(string: server.base)), player: "1", key: "0a",
            transport: kind.transport(timeout: timeout), patience: .none)
    }

    /// Nothing listens to the key at the other address.
    @Test(arguments: [301, 302, 303, 307, 308], Kind.allCases)
    func aKeyFollowsNoRedirect(status: Int, kind: Kind) async throws {
        let thief = LoopbackServer { _ in .init(body: Array(#"{"api_keys": []}"#.utf8)) }
        let location = "\(thief.base)/api-keys"
        let server = LoopbackServer { _ in
            .init(status: status, headers: ["Location: \(location)"], body: Array("moved".utf8))
        }
        defer {
            thief.end()
            server.end()
        }
        let client = try client(of: server, kind)
        let error = TurnstoneError.unexpected("status \(status)")
        await #expect(throws: error) { try await client.keys() }
        await #expect(throws: error) { try await client.revokeKey("k") }
        #expect(thief.requests.isEmpty)
        #expect(server.requests.map(\.method) == ["GET", "DELETE"])
    }

    @Test(
        arguments: ["Basic realm=\"x\"", "Digest realm=\"x\", nonce=\"1\"", "Bearer", "Basic"],
        Kind.allCases)
    func aChallengeIsAnAnswer(challenge: String, kind: Kind) async throws {
        let server = LoopbackServer { request in
            .init(
                status: 401, headers: ["WWW-Authenticate: \(challenge)"],
                body: Array(#"{"error": "why"}"#.utf8))
        }
        defer { server.end() }
        await #expect(throws: TurnstoneError.unauthorized("why")) {
            try await client(of: server, kind).keys()
        }
        #expect(server.requests.count == 1)
    }

    /// Each byte that arrives would begin an idle timeout again.
    @Test(arguments: Kind.allCases) func anAnswerThatNeverEndsIsGivenUp(kind: Kind) async throws {
        let server = LoopbackServer { _ in .init(promised: 1 << 20, drips: true) }
        defer { server.end() }
        do {
            _ = try await client(of: server, kind, timeout: 1).keys()
            Issue.record("it has ended")
        } catch let error as TurnstoneError {
            let sentence = "\(server.base): no whole answer within 1.0 s"
            #expect(error == .unreachable(sentence))
        }
    }

    @Test(arguments: Kind.allCases) func anAnswerThatIsCutIsNone(kind: Kind) async throws {
        let server = LoopbackServer { _ in .init(body: Array("{}".utf8), promised: 500) }
        defer { server.end() }
        do {
            _ = try await client(of: server, kind).keys()
            Issue.record("a part was taken for the whole")
        } catch let error as TurnstoneError {
            guard case .unreachable = error else { throw error }
        }
    }

    @Test(arguments: Kind.allCases) func anAnswerBeyondAllReasonIsGivenUp(kind: Kind) async throws {
        let body = [UInt8](repeating: 32, count: 33 << 20)
        let server = LoopbackServer { _ in .init(body: body) }
        defer { server.end() }
        let error = TurnstoneError.unexpected("the answer is longer than any of an installation")
        await #expect(throws: error) { try await client(of: server, kind).keys() }
    }

    @Test(arguments: Kind.allCases) func aCancelledTaskWaitsNoLonger(kind: Kind) async throws {
        let server = LoopbackServer { _ in .init(promised: 1 << 20, drips: true) }
        defer { server.end() }
        let client = try client(of: server, kind, timeout: 3600)
        await #expect(throws: TurnstoneError.cancelled) {
            try await withThrowingTaskGroup { group in
                group.addTask { try await client.keys() }
                while server.requests.isEmpty { try await Task.sleep(for: .milliseconds(5)) }
                group.cancelAll()
                _ = try await group.next()
            }
        }
        await #expect(throws: TurnstoneError.cancelled) {
            try await withThrowingTaskGroup { group in
                group.addTask {
                    while !Task.isCancelled { await Task.yield() }
                    return try await client.keys()
                }
                group.cancelAll()
                _ = try await group.next()
            }
        }
    }

    @Test(arguments: Kind.allCases, ["GET", "POST"])
    func manyAtOnceKeepTheirAnswers(kind: Kind, method: String) async throws {
        let server = LoopbackServer { .init(body: Array($0.path.utf8)) }
        defer { server.end() }
        let transport = kind.transport()
        let base = server.base
        let right = try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<500 {
                group.addTask {
                    let url = try #require(URL(string: "\(base)/\(number)"))
                    let answer = try await transport.answer(
                        to: HTTPRequest(method: method, url: url))
                    return String(decoding: answer.body, as: UTF8.self) == "/\(number)"
                }
            }
            return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(right == 500)
    }

    /// Foundation on Linux ends the process after some of these.
    @Test(arguments: [
        "", "HTTP", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nA: b", "HTTP/1.1 200 OK\r\nA: b\r\n",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n", "HTTP/1.1 401 X\r\n",
        "HTTP/1.1 302 X\r\nLocation: /x\r\n",
        "HTTP/1.1 200 X\r\n\0A: b\r\nContent-Length: 2\r\n\r\n{}",
        "HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807\r\n\r\n", "nonsense\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ])
    func aConnectionThatIsClosedAnywhereIsAnError(text: String) async throws {
        let server = LoopbackServer { _ in .init(raw: Array(text.utf8)) }
        defer { server.end() }
        await #expect(throws: TurnstoneError.self) { try await client(of: server).keys() }
        #expect(server.requests.count == 1)
    }

    @Test(arguments: [
        "HTTP", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nA: b", "HTTP/1.1 200 OK\r\nA: b\r\n",
        "HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n",
        "HTTP/1.1 401 X\r\n", "HTTP/1.1 503 X\r\nRetry-After: 1\r\n",
    ])
    func aHeadThatIsCutIsNoAnswer(text: String) async throws {
        let server = LoopbackServer { _ in .init(raw: Array(text.utf8)) }
        defer { server.end() }
        do {
            _ = try await client(of: server).keys()
            Issue.record("a part was taken for the whole")
        } catch let error as TurnstoneError {
            guard case .unreachable = error else { throw error }
        }
    }

    @Test(arguments: [
        "HTTP/1.1 200 OK\r\n\r\n{}", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n{}",
        "HTTP/1.1 103 Early Hints\r\nA: b\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
        "HTTP/1.1 200 OK\nA: b\n\n{}",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nA: b\r\n\r\n",
    ])
    func aWholeHeadIsAnAnswer(text: String) async throws {
        let server = LoopbackServer { _ in .init(raw: Array(text.utf8)) }
        defer { server.end() }
        let url = try #require(URL(string: server.base))
        let answer = try await DefaultTransport().answer(to: HTTPRequest(method: "GET", url: url))
        #expect(answer.status == 200 && answer.body == Data("{}".utf8))
    }

    /// libcurl would send it again by another connection.
    @Test(arguments: ["POST", "PUT", "PATCH", "DELETE"])
    func aChangeWhoseConnectionIsClosedIsSentOnce(method: String) async throws {
        let answers = Mutex(1)
        let server = LoopbackServer(keepsConnections: true) { _ in
            answers.withLock {
                $0 -= 1
                return $0 < 0 ? nil : .init(body: Array("{}".utf8))
            }
        }
        defer { server.end() }
        let transport = DefaultTransport()
        let base = try #require(URL(string: server.base))
        let client = PlayerClient(
            at: base, player: "1", key: "0a", transport: Fixed(method, transport), patience: .none)
        // Its answer is no list of keys.
        await #expect(throws: TurnstoneError.self) { try await client.keys() }
        do {
            _ = try await client.keys()
            Issue.record("no answer was taken for one")
        } catch {
            guard case .unreachable = error else { throw error }
        }
        let line = "\(method) /api-keys"
        #expect(server.requests.map { "\($0.method) \($0.path)" } == [line, line])
    }

    /// Sends another method than it is asked for.
    private struct Fixed: Transport {
        let method: String
        let transport: any Transport

        init(_ method: String, _ transport: any Transport) {
            self.method = method
            self.transport = transport
        }

        func answer(to request: HTTPRequest) async throws -> HTTPAnswer {
            var request = request
            request.method = method
            return try await transport.answer(to: request)
        }
    }

    /// Each has a connection of its own, of which there are 16.
    @Test func manyChangesWaitForTheirConnections() async throws {
        let server = LoopbackServer(keepsConnections: true) { _ in .init() }
        defer { server.end() }
        let transport = DefaultTransport()
        let url = try #require(URL(string: server.base))
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<200 {
                let method = number.isMultiple(of: 3) ? "GET" : "POST"
                group.addTask {
                    try await transport.answer(to: HTTPRequest(method: method, url: url)).status
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(statuses == Array(repeating: 200, count: 200))
        #expect(server.requests.count == 200)
    }

    @Test func ofTwoLinesOfAHeadTheFirstOneCounts() async throws {
        let server = LoopbackServer { _ in
            .init(headers: ["ETag: \"1\"", "etag: \"2\"", "ETAG: \"3\"", "ETag: \"4\""])
        }
        defer { server.end() }
        let url = try #require(URL(string: server.base))
        for _ in 1...20 {
            let answer = try await DefaultTransport().answer(
                to: HTTPRequest(method: "GET", url: url))
            #expect(answer.headers["etag"] == "\"1\"")
        }
        for _ in 1...20 {
            let answer = HTTPAnswer(status: 200, headers: ["etag": "2", "ETag": "1", "eTag": "3"])
            #expect(answer.headers == ["etag": "1"])
        }
    }

    /// It would be unpacked into hundreds of megabytes before anyone looks at its length.
    @Test func nothingIsUnpacked() async throws {
        let server = LoopbackServer { _ in .init(body: Array(#"{"api_keys": []}"#.utf8)) }
        defer { server.end() }
        _ = try await client(of: server).keys()
        #expect(server.requests.first?.headers["accept-encoding"] == "identity")
    }

    @Test func aPartOfASecondIsATimeout() async throws {
        let server = LoopbackServer { _ in .init(promised: 1 << 20, drips: true) }
        defer { server.end() }
        let sentence = "\(server.base): no whole answer within 0.25 s"
        await #expect(throws: TurnstoneError.unreachable(sentence)) {
            try await client(of: server, timeout: 0.25).keys()
        }
    }

    @Test(arguments: ["GET", "POST", "PUT", "PATCH", "DELETE"], [nil, "{}"] as [String?])
    func requestsArriveAsTheyAre(method: String, body: String?) async throws {
        let server = LoopbackServer { _ in .init(status: 201, headers: ["ETag: \"3\"", "X-A:"]) }
        defer { server.end() }
        let url = try #require(URL(string: "\(server.base)/a%2Fb?c=d"))
        let answer = try await DefaultTransport().answer(
            to: HTTPRequest(
                method: method, url: url,
                headers: ["X-API-Key": "0a", "Content-Type": "application/json"],
                body: body.map { Data($0.utf8) }))
        #expect(answer.status == 201 && answer.headers["etag"] == "\"3\"" && answer.body.isEmpty)
        let request = try #require(server.requests.first)
        #expect(request.method == method && request.path == "/a%2Fb?c=d")
        #expect(request.headers["x-api-key"] == "0a")
        #expect(request.headers["content-type"] == "application/json")
        let length = ["GET", "DELETE"].contains(method) ? nil : "0"
        #expect(request.headers["content-length"] == (body == nil ? length : "2"))
    }
}

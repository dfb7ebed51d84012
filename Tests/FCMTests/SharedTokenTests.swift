import Credentials
import HTTP2
import JSON
import PushServices
import Store
import Synchronization
import TestSupport
import Testing
import Turnstone
import Unix

@testable import FCM

/// The access token in a state folder, with the simulator as the token server.
@Suite struct SharedTokenTests {
    private let simulator: Simulator
    private let folder = TemporaryFolder()

    init() throws { simulator = try Simulator(["--services", "apns,fcm"]) }

    /// A process of the installation.
    private struct Member: Sendable {
        let environment: [String: String]
        let folder: String

        var settings: FCMSettings {
            get throws {
                var variables = Variables()
                for (name, value) in environment { variables.offer(name, value) }
                return try #require(try FCMSettings(variables))
            }
        }

        func tokens(
            _ clock: @escaping () -> Timestamp = { .systemNow }
        ) throws -> AccessTokens {
            var ground = Variables()
            ground.offer("TURNSTONE_STATE", folder)
            let settings = try settings
            return try AccessTokens(
                settings.account, .client(authorities: settings.authorities),
                try State(ground).accessTokens(settings, now: clock))
        }

        /// Steps until there is a token or trouble.
        func bearer(_ tokens: AccessTokens) throws -> String? {
            let end = Instant.now + .seconds(20)
            while Instant.now < end {
                var until = Instant.now + .milliseconds(50)
                try tokens.step(isNeeded: true, until: &until, now: Instant.now)
                if tokens.bearer != nil || tokens.trouble != nil { return tokens.bearer }
                let pause = max(.seconds(0), until - Instant.now)
                ClientConnection.wait(for: [tokens.connection].compactMap { $0 }, upTo: pause)
            }
            throw TestFailure("no token in 20 s")
        }
    }

    private var member: Member {
        Member(environment: simulator.environment, folder: "\(folder.path)/state")
    }

    private func report() throws -> JSONObject {
        try simulator.perform(["do": "report"])["fcm"]?.object ?? [:]
    }

    @Test("a hundred at once make one fetch, however long it takes")
    func atOnceOneFetch() async throws {
        try simulator.perform(["do": "oauth-fault", "kind": "delay", "ms": 700])
        let member = member
        let bearers = try await atOnce(100) { _ in try member.bearer(member.tokens()) }
        #expect(Set(bearers).count == 1 && bearers[0]?.hasPrefix("Bearer ya29.") == true)
        let report = try report()
        #expect(report["oauth_requests"] == 1 && report["access_tokens"] == 1)
    }

    @Test("a hundred that find a failing token server ask it once")
    func atOnceOneFailure() async throws {
        try simulator.perform(["do": "oauth-fault", "status": 400])
        let member = member
        let bearers = try await atOnce(100) { _ in try member.bearer(member.tokens()) }
        #expect(bearers.allSatisfy { $0 == nil })
        #expect(try report()["oauth_requests"] == 1)
    }

    @Test("a hundred whose token FCM refused make one new one")
    func atOnceOneRenewal() async throws {
        let member = member
        let first = try member.bearer(member.tokens())
        let ready = Mutex(0)
        let bearers = try await atOnce(100) { _ in
            let tokens = try member.tokens()
            let old = try member.bearer(tokens)
            // None may get a new token before all have the old one.
            ready.withLock { $0 += old == first ? 1 : 0 }
            let end = Instant.now + .seconds(20)
            while ready.withLock({ $0 }) < 100, Instant.now < end { sleep(for: .milliseconds(5)) }
            tokens.reject()
            return try member.bearer(tokens)
        }
        #expect(ready.withLock { $0 } == 100)
        #expect(Set(bearers).count == 1 && bearers[0] != first)
        #expect(try report()["access_tokens"] == 2)
    }

    @Test("a token is renewed before its end, and used until the new one is there")
    func renewal() throws {
        let start = Timestamp.systemNow
        try simulator.perform(["do": "clock", "now": JSONValue(start)])
        nonisolated(unsafe) var now = start
        let member = member
        let first = try member.bearer(member.tokens { now })
        now = start + .minutes(55)
        try simulator.perform(["do": "clock", "now": JSONValue(now)])
        try simulator.perform(["do": "oauth-fault", "kind": "delay", "ms": 300])
        let other = try member.tokens { now }
        #expect(try member.bearer(other) == first)
        #expect(other.connection != nil)
        let end = Instant.now + .seconds(10)
        while try member.bearer(other) == first, Instant.now < end {}
        #expect(other.bearer != nil && other.bearer != first)
        #expect(try report()["access_tokens"] == 2)
    }

    @Test("the document has the token, only for this account, and no lock outlives a fetch")
    func document() throws {
        _ = try member.bearer(member.tokens())
        let name = "state/credentials/\(try member.settings.tokenDocument).json"
        let stored = try JSON.parse(try #require(folder.read(name))).object
        #expect(stored?["token"]?.object?["text"]?.string?.hasPrefix("ya29.") == true)
        #expect(stored?["claim"] == nil && stored?["failure"] == nil)
    }
}

import Crypto
import Foundation
import JSON
import TestSupport
import Testing
import Turnstone
import TurnstoneKit

/// The clients against the real programs behind nginx, with a stand-in for Online-Go.com.
@Suite(.enabled(if: Host.nginx.obstacle == nil)) struct ProgramsTests {
    private static let key = String(repeating: "0a", count: 32)
    private static let secret = "a secret that the backend of an app shares"
    static let serverKey = "the key of an app's own backend in 32 bytes"
    private let site: Site
    let simulator: Simulator
    let address: URL

    init() throws {
        simulator = try Simulator()
        site = try Site(.nginx)
        address = try site.address(of: "register")
        let stand = simulator.environment.map { "\($0.key)=\($0.value)" }.joined(separator: "\n")
        try site.configure(
            "\(stand)\nTURNSTONE_DELIVER=external\nMASTER_API_KEY=master\nJWT_SECRET='\(Self.secret)'\n"
                + "JWT_REQUIRE_EXP=false\nTURNSTONE_SERVER_KEY=\"\(Self.serverKey)\"\nSIGNUP=ogs-profile\n"
                + "OGS_REQUESTS_PER_SECOND=1000\nVAPID_SUBJECT=mailto:operator@example.org")
    }

    private func player() async throws -> PlayerClient {
        let key = try await PlayerClient.makeKey(at: address, for: "2", masterKey: "master")
        return PlayerClient(at: address, player: "2", key: key)
    }

    func app(_ user: String = "ann") throws -> AppClient {
        let signed = ["{\"alg\":\"HS256\",\"typ\":\"JWT\"}", "{\"sub\":\"\(user)\"}"]
            .map { base64URL(Array($0.utf8)) }.joined(separator: ".")
        let code = base64URL(hmacSHA256(Array(signed.utf8), key: Array(Self.secret.utf8)))
        let token = "\(signed).\(code)"
        return AppClient(at: address) { token }
    }

    let token = Data(repeating: 0x5a, count: 32)

    @Test func aPlayersWayThroughAllRoutes() async throws {
        try simulator.perform([
            "do": "game", "game": 7, "name": "Game 7", "black": 1, "white": 2, "moves": 20,
            "to_move": 2,
        ])
        let client = try await player()
        let device = try await client.register(
            .apple(token), name: "iPhone", environment: .development)
        #expect(try await client.register(.apple(token)) == device)
        #expect(try await client.players(on: device) == ["2"])
        #expect(try await client.players(on: PushToken.apple(token).text) == ["2"])

        let games = try await client.check()
        #expect(games.yourTurnNew + games.yourTurnOld == [7])
        let diagnostics = try await client.diagnostics()
        #expect(diagnostics.isDeviceRegistered)
        #expect(diagnostics.games.map(\.id) == [7])
        #expect(diagnostics.games.first?.isYourTurn == true)
        #expect(diagnostics.games.first?.isPaused == nil)
        #expect(diagnostics.lastCheck != nil)
        let detailed = try await client.diagnostics(details: true).games.first
        #expect(detailed?.isPaused == false && detailed?.opponent != nil)
        #expect(detailed?.phase == "play" && detailed?.board?.object?["width"] != nil)
        let site = try await client.diagnostics(details: true).site
        #expect(site != nil && diagnostics.site == nil)
        #expect(diagnostics.devicePlatform == "ios" && !diagnostics.isDeviceStale)

        var preferences = try await client.preferences()
        preferences.kinds["turn"] = false
        preferences.quietHours = .init(from: "22:00", to: "07:00", timeZone: "Europe/Berlin")
        preferences.mutedUntil = Date(timeIntervalSince1970: 4_000_000_000)
        let stored = try await client.set(preferences)
        #expect(stored.kinds == ["turn": false])
        #expect(stored.mutedUntil == preferences.mutedUntil)
        // The first reading is out of date now.
        await #expect(throws: TurnstoneError.self) { try await client.set(preferences) }

        #expect(try await client.devices().map(\.id) == [device])
        #expect(try await client.devices().map(\.deviceName) == ["iPhone"])
        let profile = try await client.changeProfile(["language": .string("de")])
        #expect(profile["language"] == .string("de"))
        #expect(try await client.profile()["language"] == .string("de"))

        let keys = try await client.keys()
        #expect(keys.count == 1)
        let other = PlayerClient(at: address, player: "2", key: try await client.rotateKey())
        await #expect(throws: TurnstoneError.self) { try await client.keys() }
        #expect(try await other.keys().count == 1)
        try await other.unregister(device)
        #expect(try await other.players(on: PushToken.apple(token).text) == [])
        do {
            try await other.unregister(device)
            Issue.record("a device went twice")
        } catch {
            guard case .notFound = error else {
                Issue.record("\(error)")
                return
            }
        }
        await #expect(throws: TurnstoneError.self) {
            try await PlayerClient(at: address, player: "3", key: Self.key).register(.apple(token))
        }
    }

    @Test func aKeyAloneNamesItsPlayer() async throws {
        let account = try await signedUp("Bob", number: 2)
        let client = try await PlayerClient(at: address, key: account.key)
        #expect(client.player == "2")
        #expect(try await client.keys().count == 1)
        do {
            _ = try await PlayerClient(at: address, key: Self.key)
            Issue.record("an unknown key was somebody's")
        } catch {
            guard case .unauthorized = error else {
                Issue.record("\(error)")
                return
            }
        }
    }

    /// A player's number and key, by a code in the player's profile.
    private func signedUp(_ name: String, number: Int64) async throws -> Signup.Account {
        try simulator.perform(["do": "player", "player": .integer(number), "name": .string(name)])
        let signup = Signup(at: address)
        #expect(try await signup.site() != nil)
        let code = try await signup.begin(username: " \(name) ")
        #expect(code.username == name && code.expiresAt > Date())
        do {
            _ = try await signup.confirm(code)
            Issue.record("a code that is in no profile made a key")
        } catch {
            guard case .forbidden = error else { throw error }
        }
        try simulator.perform([
            "do": "player", "player": .integer(number), "about": .string("Hello! \(code.text)"),
        ])
        let account = try await signup.confirm(code)
        #expect(account.player == "\(number)")
        // The answer may have been lost.
        #expect(try await signup.confirm(code) == account)
        return account
    }

    @Test func aUsersWayThroughAllRoutes() async throws {
        let client = try app()
        let device = try await client.register(
            .apple(token), name: "iPhone 15 Pro", appVersion: "3.1", model: "iPhone15,2",
            system: "iOS 19.1", profile: ["language": "fr"])
        #expect(try await client.profile()["language"] == "fr")
        #expect(device.platform == "ios")
        #expect(try await client.devices().map(\.deviceName) == ["iPhone 15 Pro"])
        let activity = try await client.registerActivity(
            Data(repeating: 1, count: 32), activity: "a-1", session: "s-1")
        _ = try await client.registerActivityStart(
            Data(repeating: 2, count: 32), attributesType: "Game")
        let status = try await client.status()
        #expect(status.deviceTokenRegistered)
        #expect(
            status.liveActivityTokens.contains { $0.activityId == "a-1" && $0.sessionId == "s-1" })
        try await client.invalidate(activity)
        #expect(!(try await client.status().liveActivityTokens.contains { $0.activityId == "a-1" }))

        #expect(try await client.setBadge(5, from: device.id) == 5)
        #expect(try await client.changeBadge(by: -2) == 3)
        #expect(try await client.badge() == 3)
        let profile = try await client.changeProfile([
            "language": .string("de"), "tags": .object(["level": .int(12)]),
        ])
        #expect(profile["language"] == .string("de"))
        #expect(try await client.profile()["tags"] == .object(["level": .int(12)]))
        #expect(try await client.set(.init(kinds: ["comment": false])).kinds == ["comment": false])

        let test = try await client.sendTest(language: "de")
        #expect(test.devices == 1)
        #expect(try await client.notifications().notifications.isEmpty)

        let bob = try app("bob")
        do {
            try await bob.unregister(device.id)
            Issue.record("bob removed ann's device")
        } catch {
            #expect(
                [TurnstoneError.forbidden("Not authorized"), .notFound("Token not found")].contains(
                    error))
        }
        try await client.unregister(device.id)
        #expect(try await client.devices().isEmpty)
        let nobody = AppClient(at: address) { "a.b.c" }
        do {
            _ = try await nobody.devices()
            Issue.record("a bad token was good")
        } catch {
            guard case .unauthorized(let sentence) = error else {
                Issue.record("\(error)")
                return
            }
            #expect(sentence.hasPrefix("Access denied"))
        }
    }

    @Test func nobodyListening() async throws {
        let client = AppClient(at: try #require(URL(string: "http://127.0.0.1:1"))) { "a.b.c" }
        do {
            _ = try await client.badge()
            Issue.record("nobody answered")
        } catch {
            guard case .unreachable = error else {
                Issue.record("\(error)")
                return
            }
        }
    }
}

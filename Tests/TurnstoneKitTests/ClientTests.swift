import Foundation
import Testing
import TurnstoneKit

/// What becomes of answers, by a transport that answers as it is told.
@Suite struct ClientTests {
    private let keys = Script.keys

    @Test(
        "a refusal is the error of its status, with the installation's sentence",
        arguments: [
            (400, TurnstoneError.refused(status: 400, "why")), (401, .unauthorized("why")),
            (403, .forbidden("why")),
            (404, .notFound("why")), (409, .conflict("why")), (412, .changed("why")),
            (422, .refused(status: 422, "why")),
            (500, .broken(status: 500, "why")), (503, .later(after: nil, "why")),
            (302, .unexpected("status 302")),
        ])
    func refusals(status: Int, error: TurnstoneError) async {
        let script = Script([.init(status: status, body: Data(#"{"error": "why"}"#.utf8))])
        await #expect(throws: error) { try await script.player(isPatient: false).keys() }
    }

    @Test func anAnswerWithoutJSONIsStillItsStatus() async {
        let script = Script([.init(status: 502, body: Data("<html>".utf8))])
        await #expect(throws: TurnstoneError.broken(status: 502, "status 502")) {
            try await script.player(isPatient: false).keys()
        }
        let other = Script([.init(status: 200, body: Data("<html>".utf8))])
        do {
            _ = try await other.player(isPatient: false).keys()
            Issue.record("a page was taken for keys")
        } catch {
            guard case .unexpected = error else {
                Issue.record("\(error)")
                return
            }
        }
    }

    @Test(
        "a refusal that is not an installation's signs nobody out",
        arguments: [400, 401, 403, 404, 409, 412, 413],
        ["", "<html>", "{}", #"{"message": "no"}"#, #"{"error": 5}"#])
    func foreign(status: Int, body: String) async {
        let script = Script([.init(status: status, body: Data(body.utf8))])
        let error = TurnstoneError.unexpected("status \(status), but not from an installation")
        await #expect(throws: error) { try await script.player(isPatient: false).keys() }
    }

    @Test func aRequestIsRepeatedAfterThePauseThatItsRefusalAsksFor() async throws {
        let busy = HTTPAnswer(status: 503, headers: ["Retry-After": "2"])
        let script = Script([busy, .init(status: 429, headers: ["Retry-After": "7"]), keys])
        #expect(try await script.player().keys().map(\.id) == ["k"])
        #expect(await script.pauses == [.seconds(2), .seconds(7)])
        #expect(await script.requests.map(\.method) == ["GET", "GET", "GET"])
    }

    @Test func patienceEnds() async {
        let busy = HTTPAnswer(
            status: 503, headers: ["Retry-After": "2"], body: Data(#"{"error": "busy"}"#.utf8))
        let script = Script([busy, busy, busy, keys])
        await #expect(throws: TurnstoneError.later(after: .seconds(2), "busy")) {
            try await script.player().keys()
        }
        #expect(await script.requests.count == 3)

        let long = Script([.init(status: 503, headers: ["Retry-After": "3600"]), keys])
        await #expect(throws: TurnstoneError.later(after: .seconds(3600), "status 503")) {
            try await long.player().keys()
        }
        #expect(await long.pauses == [])
    }

    @Test func aMomentInRetryAfterIsAPause() async throws {
        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.timeZone = TimeZone(identifier: "GMT")
        format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        let moment = format.string(from: Date(timeIntervalSinceNow: 20))
        let script = Script([.init(status: 503, headers: ["retry-after": moment]), keys])
        _ = try await script.player().keys()
        let pause = try #require(await script.pauses.first)
        #expect((.seconds(1)...(.seconds(21))).contains(pause))
        let past = Script([
            .init(status: 503, headers: ["Retry-After": "Sun, 06 Nov 1994 08:49:37 GMT"]), keys,
        ])
        _ = try await past.player().keys()
        #expect(await past.pauses == [.zero])
    }

    @Test(arguments: [
        "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
    ])
    func aMomentHasThreeForms(field: String) async throws {
        let script = Script([.init(status: 503, headers: ["Retry-After": field]), keys])
        _ = try await script.player().keys()
        #expect(await script.pauses == [.zero])
    }

    /// A number beyond all reason is no reason to come back at once.
    @Test(arguments: ["31536001", "99999999999999999999999", "Fri, 31 Dec 9999 23:59:59 GMT"])
    func aPauseOfMoreThanAYearIsAYear(field: String) async {
        let script = Script([.init(status: 503, headers: ["Retry-After": field]), keys])
        await #expect(throws: TurnstoneError.later(after: .seconds(31_536_000), "status 503")) {
            try await script.player().keys()
        }
        #expect(await script.pauses == [])
    }

    @Test(
        "an address that is none of an installation is said so, and nothing is sent",
        arguments: [
            "push.example.org", "file:///etc/passwd", "https://push.example.org/?a=b",
            "https://push.example.org/#a", "http://push.example.org", "http://192.168.1.5:8080",
            "http://localhost.example.org", "https://", "https://push.example.org:65536",
        ])
    func addresses(text: String) async throws {
        let script = Script([keys])
        let client = PlayerClient(
            at: try #require(URL(string: text)), player: "1", key: "0a", transport: script)
        await #expect(
            throws: TurnstoneError.unexpected("\(text) is not the address of an installation")
        ) { try await client.keys() }
        #expect(await script.requests.isEmpty)
    }

    @Test(
        "an error tells a person what went wrong, and a program whether to try again",
        arguments: [
            (
                TurnstoneError.later(after: .seconds(2), "busy"), "busy",
                Duration?.some(.seconds(2)), true
            ),
            (.unauthorized("Invalid API key"), "Invalid API key", nil, false),
            (.refused(status: 422, "no"), "no (status 422)", nil, false),
            (.broken(status: 502, "status 502"), "status 502", nil, true),
            (.refused(status: 408, "slow"), "slow (status 408)", nil, true),
            (.unreachable("x: offline"), "The server cannot be reached: x: offline", nil, true),
            (.cancelled, "The request was cancelled.", nil, false),
        ])
    func descriptions(
        error: TurnstoneError, text: String, pause: Duration?, isTemporary: Bool
    ) {
        #expect((error as any Error).localizedDescription == text)
        #expect(error.retryAfter == pause)
        #expect(error.isTemporary == isTemporary)
    }

    @Test func literalsAreJSONValues() {
        let value: JSONValue = ["language": "de", "tags": ["rank": 12, "x": 1.5], "on": [true]]
        #expect(
            value
                == .object([
                    "language": .string("de"),
                    "tags": .object(["rank": .int(12), "x": .double(1.5)]),
                    "on": .array([.bool(true)]),
                ]))
    }

    @Test func anOutcomeThatIsNotKnownStaysItsWord() throws {
        let text = """
            {"notifications": [{"id": "n", "at": "2026-11-21T12:00:00.000Z", "platform": "web", "outcome": "teleported", "explanation": "x"}],
             "next": null, "stopped": false}
            """
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .custom { _ in Date(timeIntervalSince1970: 0) }
        let history = try decoder.decode(NotificationHistory.self, from: Data(text.utf8))
        #expect(history.notifications.first?.outcome == "teleported")
        #expect(history.notifications.first?.outcome != .accepted)
    }

    /// As the example of ``TurnstoneError`` does it.
    @Test func inAClosureAnErrorIsCaughtByItsCase() async {
        let script = Script([.init(status: 401, body: Data(#"{"error": "why"}"#.utf8))])
        let isSignedOut = await Task {
            do throws(TurnstoneError) {
                try await script.app().register(.apple(Data([1])))
                return false
            } catch .unauthorized {
                return true
            } catch {
                Issue.record("\(error.localizedDescription)")
                return false
            }
        }.value
        #expect(isSignedOut)
    }

    /// The answer may be lost after the work was done.
    @Test func whatFailsOnTheWayIsNotRepeated() async {
        let script = Script([])
        do {
            _ = try await script.player().rotateKey()
            Issue.record("no answer was taken for one")
        } catch {
            guard case .unreachable = error else {
                Issue.record("\(error)")
                return
            }
        }
        #expect(await script.requests.count == 1)
    }

    @Test func requestsNameTheCallerAndArePercentEncoded() async throws {
        let script = Script([.init(status: 200, body: Data(#"{"status": "unregistered"}"#.utf8))])
        try await script.player().unregister("https://fcm/é:1")
        let request = try #require(await script.requests.first)
        #expect(
            request.url.absoluteString
                == "https://push.example.org/go/register/https%3A%2F%2Ffcm%2F%C3%A9%3A1")
        #expect(request.method == "DELETE")
        #expect(request.headers["X-API-Key"] == "0a")
        #expect(request.body == nil)

        let app = Script([.init(status: 200, body: Data(#"{"success": true, "badge": 4}"#.utf8))])
        #expect(try await app.app().changeBadge(by: 1, from: "d") == 4)
        let change = try #require(await app.requests.first)
        #expect(change.headers["Authorization"] == "Bearer a.b.c")
        #expect(change.headers["Content-Type"] == "application/json")
        let body = try JSONDecoder().decode([String: String].self, from: try #require(change.body))
        #expect(body == ["badge": "+1", "deviceToken": "d"])
    }

    /// The installation refuses an idempotency key with another body.
    @Test func aMessageThatIsSentAgainIsTheSameByteForByte() async throws {
        let answer = HTTPAnswer(
            status: 202, body: Data(#"{"success": true, "id": "m", "devices": 1}"#.utf8))
        let script = Script([answer])
        let client = ServerClient(at: Script.base, key: "k", transport: script)
        let message = Message(
            title: "News", body: "It is out", data: ["b": .int(2), "a": .int(1)], kind: "news",
            others: ["badge": .int(3)])
        _ = try await client.send(message, to: Audience(users: ["ann"]), idempotencyKey: "i")
        let request = try #require(await script.requests.first)
        #expect(request.headers["Authorization"] == "Key k")
        #expect(
            String(decoding: try #require(request.body), as: UTF8.self)
                == #"{"badge":3,"body":"It is out","data":{"a":1,"b":2},"idempotency_key":"i","kind":"news","title":"News","users":["ann"]}"#
        )
    }

    @Test func anInstallationThatDoesNotSayWhoseAKeyIs() async {
        do {
            _ = try await PlayerClient(at: Script.base, key: "0a", transport: Script([keys]))
            Issue.record("a key without a player had one")
        } catch {
            guard case .unexpected = error else {
                Issue.record("\(error)")
                return
            }
        }
    }

    @Test func aTokenFromAppleIsHex() {
        #expect(PushToken.apple(Data([0x80, 0x86, 0x05, 0xff])).text == "808605ff")
    }

    @Test func zeroIsNeverInDiagnostics() throws {
        let text = """
            {"user_id": "1", "device_token_registered": false, "last_notification_time": 0, "total_active_games": 1,
             "monitored_games": [{"game_id": 5, "last_move_timestamp": 0, "current_player": 0, "is_your_turn": false,
             "game_name": ""}], "server_check_interval": "30s", "last_server_check_time": 0, "later": {"member": 1}}
            """
        let diagnostics = try JSONDecoder().decode(Diagnostics.self, from: Data(text.utf8))
        #expect(diagnostics.lastNotification == nil && diagnostics.lastCheck == nil)
        #expect(
            diagnostics.games.first?.lastMove == nil
                && diagnostics.games.first?.currentPlayer == nil)
        #expect(diagnostics.games.first?.link?.appURL.absoluteString == "ogs://game/5")
    }
}

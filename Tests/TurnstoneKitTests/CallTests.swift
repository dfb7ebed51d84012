import Foundation
import Testing
import TurnstoneKit

/// What a call promises, by a transport that answers as it is told.
@Suite struct CallTests {
    /// A call of any client.
    struct Call: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let run: @Sendable (Script) async throws -> Void

        init(_ name: String, _ run: @escaping @Sendable (Script) async throws -> Void) {
            testDescription = name
            self.run = run
        }
    }

    static let removals = [
        Call("a key") { try await $0.player().revokeKey("k") },
        Call("a player's device") { try await $0.player().unregister("d") },
        Call("a user's device") { try await $0.app().unregister("d") },
        Call("a token") { try await $0.app().invalidate("d") },
        Call("a segment") { try await $0.backend().removeSegment("s") },
        Call("a channel") { try await $0.backend().removeChannel("AAAA") },
    ]

    /// A hotel's network answers everything with its own page.
    @Test(
        "what is removed is gone only if the installation says so", arguments: removals,
        [
            "", "<html>", "{}", "[]", #"{"success": false}"#, #"{"status": "ok"}"#,
            #"{"success": 1}"#,
        ])
    func removal(call: Call, body: String) async {
        let script = Script([.init(status: 200, body: Data(body.utf8))])
        do {
            try await call.run(script)
            Issue.record("the removal of \(call.testDescription) counts as done")
        } catch {
            guard case .unexpected = error as? TurnstoneError else {
                Issue.record("\(error)")
                return
            }
        }
        #expect(await script.requests.map(\.method) == ["DELETE"])
    }

    @Test(arguments: removals)
    func removalIsDone(call: Call) async throws {
        let answer = #"{"success": true, "status": "unregistered", "revoked": true}"#
        try await call.run(Script([.init(status: 200, body: Data(answer.utf8))]))
    }

    private static let changes = [
        Call("the key's replacement") { _ = try await $0.player().rotateKey() },
        Call("a badge's change") { try await $0.app().changeBadge(by: 1) },
        Call("a message") { _ = try await $0.backend().send(Message(title: "x"), to: .everyone) },
        Call("a removal") { try await $0.player().unregister("d") },
    ]

    /// A proxy may answer so after it has passed the request on.
    @Test(
        "a change is not repeated after a stranger's refusal", arguments: changes,
        ["<p>", #"{"message": "no"}"#, #"{"error": ""}"#, #"{"error": "no", "ray": 1}"#])
    func strangersRefusal(call: Call, body: String) async {
        let answers = [429, 503].map {
            HTTPAnswer(status: $0, headers: ["Retry-After": "1"], body: Data(body.utf8))
        }
        let script = Script(answers + answers)
        await #expect(throws: TurnstoneError.self) { try await call.run(script) }
        #expect(await script.requests.count == 1)
        #expect(await script.pauses == [])
    }

    /// Not the first one: the key may have been replaced.
    @Test(
        "a change is repeated after the installation's own refusal", arguments: changes.dropFirst())
    func ownRefusal(call: Call) async {
        let answer = HTTPAnswer(
            status: 503, headers: ["Retry-After": "1"], body: Data(#"{"error": "busy"}"#.utf8))
        let script = Script([answer, answer, answer])
        let error = TurnstoneError.later(after: .seconds(1), "busy")
        await #expect(throws: error) { try await call.run(script) }
        #expect(await script.requests.count == 3)
    }

    @Test("an id that would be another path is refused", arguments: ["", ".", ".."])
    func paths(id: String) async {
        let calls: [@Sendable (Script) async throws -> Void] = [
            { try await $0.backend().erase(id) }, { try await $0.app().unregister(id) },
            { _ = try await $0.backend().report(on: id) },
            { try await $0.backend().removeChannel(id) },
            { script in
                let player = PlayerClient(at: Script.base, player: id, key: "0a", transport: script)
                _ = try await player.check()
            },
        ]
        let error = TurnstoneError.invalid("\"\(id)\" cannot be in the path of a request")
        for call in calls {
            let script = Script([Script.keys])
            await #expect(throws: error) { try await call(script) }
            #expect(await script.requests.isEmpty)
        }
    }

    @Test func aNumberThatIsNoneIsNotSent() async {
        for number in [Double.nan, .infinity] {
            let script = Script([])
            do {
                _ = try await script.backend().send(
                    Message(title: "x", data: ["share": .double(number)]), to: .everyone)
                Issue.record("it was sent")
            } catch {
                guard case .invalid = error, !error.isTemporary else {
                    Issue.record("\(error)")
                    return
                }
            }
            #expect(await script.requests.isEmpty)
        }
    }

    /// Such a header would not be sent, or be another one.
    @Test(arguments: ["0a\n", "0a\r\nX-Other: 1", "\u{0}"])
    func aKeyWithALineBreakIsSaidSo(key: String) async {
        let script = Script([Script.keys])
        let client = PlayerClient(at: Script.base, player: "1", key: key, transport: script)
        let error = TurnstoneError.invalid(
            "the key or the token has a line break or another control character")
        await #expect(throws: error) { try await client.keys() }
        #expect(await script.requests.isEmpty)
    }

    @Test func anIdempotencyKeyAmongTheOtherMembersCounts() async throws {
        let answer = HTTPAnswer(status: 202, body: Data(#"{"id": "m", "devices": 1}"#.utf8))
        let script = Script([answer, answer])
        let message = Message(title: "x", others: ["idempotency_key": "other"])
        _ = try await script.backend().send(message, to: Audience(users: ["ann"]))
        _ = try await script.backend().send(
            message, to: Audience(users: ["ann"]), idempotencyKey: "own")
        let keys = try await script.requests.map {
            try JSONDecoder().decode([String: JSONValue].self, from: #require($0.body))[
                "idempotency_key"]
        }
        #expect(keys == ["other", "own"])
    }

    @Test func aNameAndAPasswordInTheAddressAreNotShown() async throws {
        let base = try #require(URL(string: "https://ann:hidden@push.example.org/go"))
        let script = Script([Script.keys])
        let client = PlayerClient(at: base, player: "1", key: "0a", transport: script)
        do {
            _ = try await client.keys()
            Issue.record("a password was sent in an address")
        } catch {
            #expect("\(error)".contains("push.example.org/go"))
            #expect(!"\(error)".contains("hidden") && !error.localizedDescription.contains("ann:"))
        }
        #expect(await script.requests.isEmpty)
    }

    @Test(arguments: [
        ("HTTPS://push.example.org", "https://push.example.org/api-keys"),
        ("http://localhost:8080/", "http://localhost:8080/api-keys"),
        ("http://127.0.0.1:8080/go", "http://127.0.0.1:8080/go/api-keys"),
        ("HTTP://[::1]:8080", "http://[::1]:8080/api-keys"),
    ])
    func addressesAreThoseOfInstallations(text: String, url: String) async throws {
        let script = Script([Script.keys])
        let base = try #require(URL(string: text))
        _ = try await PlayerClient(at: base, player: "1", key: "0a", transport: script).keys()
        #expect(await script.requests.map(\.url.absoluteString) == [url])
    }

    @Test func keysAreNotInLogs() async throws {
        let body = Data(
            #"{"code": "word", "token": "hidden", "expires_at": "2026-11-28T12:00:00Z", "username": "ann"}"#
                .utf8)
        let script = Script([
            .init(status: 200, body: body),
            .init(status: 200, body: Data(#"{"user_id": "1", "api_key": "hidden"}"#.utf8)),
        ])
        let signup = Signup(at: Script.base, transport: script)
        let code = try await signup.begin(username: "ann")
        let account = try await signup.confirm(code)
        let request = HTTPRequest(
            method: "POST", url: Script.base, headers: ["X-API-Key": "hidden"],
            body: Data("hidden".utf8))
        for value: Any in [code, account, request] {
            var shown = "\(value) \(String(reflecting: value))"
            dump(value, to: &shown)
            #expect(!shown.contains("hidden"))
        }
        #expect("\(code)" == "the code word for ann")
    }

    @Test func aKeyThatAProxyShowsIsNotInTheError() async {
        let key = String(repeating: "0a", count: 32)
        for status in [403, 503] {
            let script = Script([
                .init(status: status, body: Data(#"{"error": "bad key \#(key)!"}"#.utf8))
            ])
            let client = PlayerClient(
                at: Script.base, player: "1", key: key, transport: script, patience: .none)
            do {
                _ = try await client.keys()
                Issue.record("a refusal was an answer")
            } catch {
                #expect(error.message == "bad key …!")
            }
        }
    }

    private static let reads = [
        Call("status") { _ = try await $0.backend().status() },
        Call("a user's status") { _ = try await $0.backend().status(of: "ann") },
        Call("health") { _ = try await $0.backend().health() },
        Call("another key") { _ = try await $0.player().rotateKey() },
        Call("a first key") {
            _ = try await PlayerClient.makeKey(
                at: Script.base, for: "1", masterKey: "m", transport: $0)
        },
        Call("whose key it is") {
            _ = try await PlayerClient(at: Script.base, key: "0a", transport: $0)
        },
        Call("the way to a key") { _ = try await Signup(at: Script.base, transport: $0).site() },
    ]

    @Test(
        "another server's answer is none", arguments: reads,
        [
            "{}", #"{"error": "sign in"}"#, #"{"success": false}"#, #"{"status": "maintenance"}"#,
            #"{"status": "not ready"}"#,
            #"{"api_key": "", "user_id": "1"}"#, #"{"user_id": "../x", "api_keys": []}"#,
            #"{"signup": "ogs-profile", "site": "javascript:alert(1)"}"#, #"{"signup": "x"}"#,
        ])
    func anotherServersAnswer(call: Call, body: String) async {
        let script = Script([.init(status: 200, body: Data(body.utf8))])
        do {
            try await call.run(script)
            Issue.record("it was taken for an installation's")
        } catch {
            guard case .unexpected = error as? TurnstoneError else {
                Issue.record("\(error)")
                return
            }
        }
    }

    @Test func aListThatNeverEndsIsLeft() async throws {
        let page = HTTPAnswer(
            status: 200,
            body: Data(
                #"{"total": 1000000000, "segments": [{"id": "a", "name": "b", "filters": [], "createdAt": "2026-11-28T12:00:00Z", "updatedAt": "2026-11-28T12:00:00Z"}]}"#
                    .utf8))
        let script = Script([page, page, page, page])
        #expect(try await script.backend().segments().count == 1)
        #expect(await script.requests.count == 2)
    }

    @Test(arguments: [
        (Double.nan, String?.none), (.infinity, nil), (1e300, nil), (-1, nil),
        (253_402_300_800, nil),
        (1_795_867_200.789, "2026-11-28T12:00:00.789Z"),
    ])
    func aMomentIsSentWholeOrNotAtAll(seconds: Double, text: String?) async throws {
        let script = Script([.init(status: 200, body: Data(#"{"preferences": {}}"#.utf8))])
        let preferences = NotificationPreferences(
            mutedUntil: Date(timeIntervalSince1970: seconds))
        do {
            try await script.player().set(preferences)
            let body = try #require(await script.requests.first?.body)
            let sent = try JSONDecoder().decode([String: JSONValue].self, from: body)
            #expect(sent["mutedUntil"]?.string == text && text != nil)
        } catch let error as TurnstoneError {
            guard case .invalid = error, text == nil else {
                Issue.record("\(error)")
                return
            }
            #expect(await script.requests.isEmpty)
        }
    }

    @Test func healthIsReadFromItsRefusalToo() async throws {
        let body =
            #"{"status": "not ready", "problems": [{"problem": "disk full", "message": "m", "action": "a"}]}"#
        let script = Script([
            .init(status: 503, headers: ["Retry-After": "1"], body: Data(body.utf8)),
            .init(status: 200, body: Data(#"{"status": "ok"}"#.utf8)),
        ])
        let bad = try await script.backend().health()
        #expect(!bad.isReady && bad.problems.map(\.problem) == ["disk full"])
        #expect(try await script.backend().health().isReady)
        #expect(await script.pauses == [])
    }
}

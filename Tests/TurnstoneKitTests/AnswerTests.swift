import Foundation
import Testing
import TurnstoneKit

/// What is read of answers, and what is sent for it, by a transport that answers as it is told.
@Suite struct AnswerTests {
    private func answer(
        _ body: String, status: Int = 200, headers: [String: String] = [:]
    ) -> HTTPAnswer {
        HTTPAnswer(status: status, headers: headers, body: Data(body.utf8))
    }

    private func body(_ request: HTTPRequest?) throws -> [String: JSONValue] {
        try JSONDecoder().decode([String: JSONValue].self, from: try #require(request?.body))
    }

    @Test(arguments: [("", 0), (#", "unreadable": 3"#, 3)])
    func anErasureSaysWhatItCouldNotRead(more: String, unreadable: Int) async throws {
        let script = Script([
            answer(
                #"{"success": true, "erased": {"devices": 1, "apiKeys": 2, "pushes": 3, "receipts": 4, "files": 5\#(more)}}"#
            )
        ])
        let erased = try await script.backend().erase("ann")
        #expect(erased.unreadable == unreadable && erased.files == 5 && erased.devices == 1)
    }

    private static func user(_ more: String) -> String {
        """
        {"success": true, "user": {"id": "ann", "preferences": {}, "profile": {"language": "de"}, "badge": 3, "apiKeys": 1,
         "devices": [{"id": "d", "platform": "ios", "createdAt": "2026-11-28T12:00:00.000Z",
                      "updatedAt": "2026-11-28T12:00:00.000Z", "tokenType": "device"\(more)}]}}
        """
    }

    @Test func aUsersDeviceIsReadWhole() async throws {
        let script = Script([
            answer(Self.user(#", "enabled": false, "model": "iPhone15,2", "os": "iOS 19.1""#)),
            answer(Self.user("")),
        ])
        let device = try #require(try await script.backend().user("ann").devices.first)
        #expect(!device.isEnabled && device.model == "iPhone15,2" && device.os == "iOS 19.1")
        let plain = try #require(try await script.backend().user("ann").devices.first)
        #expect(plain.isEnabled && plain.model == nil && plain.os == nil)
    }

    @Test func aReportIsReadWhole() async throws {
        let common = #""id": "m", "state": "sending", "kind": "news", "devices": [], "counts": {}"#
        let script = Script([
            answer(
                """
                {"success": true, \(common), "acceptedAt": "2026-11-28T12:00:00.000Z", "delayedOption": "timezone",
                 "deliveryTimeOfDay": "09:00", "throttlePerMinute": 1000, "later": ["ann"], "failed": ["bob", "eve"]}
                """),
            answer(#"{"success": true, \#(common), "acceptedAt": "2026-11-28T12:00:00.000Z"}"#),
        ])
        let report = try await script.backend().report(on: "m")
        #expect(report.delayedOption == "timezone" && report.deliveryTimeOfDay == "09:00")
        #expect(report.throttlePerMinute == 1000)
        #expect(report.later == ["ann"] && report.failed == ["bob", "eve"])
        let plain = try await script.backend().report(on: "m")
        #expect(plain.delayedOption == nil && plain.deliveryTimeOfDay == nil)
        #expect(plain.throttlePerMinute == nil && plain.later.isEmpty && plain.failed.isEmpty)
    }

    @Test func aStatusListsTheDevicesThatItCounts() async throws {
        let script = Script([
            answer(
                #"{"deviceTokenRegistered": true, "devices": [{"id": "d", "platform": "web"}], "liveActivityTokens": []}"#
            ),
            answer(#"{"deviceTokenRegistered": false, "liveActivityTokens": []}"#),
        ])
        let devices = try await script.app().status().devices
        #expect(devices?.map(\.id) == ["d"] && devices?.map(\.platform) == ["web"])
        #expect(try await script.app().status().devices == nil)
    }

    @Test func aProblemKeepsItsOtherMembers() async throws {
        let body = """
            {"status": "not ready", "problems": [
              {"problem": "delivery stopped", "message": "m", "action": "a", "service": "apns", "reason": "InvalidProviderToken",
               "since": "2026-11-28T12:00:00.000Z", "files": 3},
              {"problem": "storage", "message": "m", "action": "a"}]}
            """
        let health = try await Script([answer(body, status: 503)]).backend().health()
        #expect(health.problems.map(\.service) == ["apns", nil])
        #expect(
            health.problems.map(\.details) == [
                [
                    "reason": "InvalidProviderToken", "since": "2026-11-28T12:00:00.000Z",
                    "files": 3,
                ], [:],
            ])
    }

    @Test("health is asked again where something between refuses", arguments: [429, 503])
    func healthRefused(status: Int) async throws {
        let ok = answer(#"{"status": "ok"}"#)
        let refusal = answer("<html>", status: status, headers: ["Retry-After": "2"])
        let script = Script([refusal, ok, refusal, refusal, refusal])
        #expect(try await script.backend().health().isReady)
        #expect(await script.pauses == [.seconds(2)])
        let error = TurnstoneError.later(after: .seconds(2), "status \(status)")
        await #expect(throws: error) { try await script.backend().health() }
    }

    @Test func aUserIsChangedOnlyIfNobodyElseHas() async throws {
        let script = Script([
            answer(Self.user(""), headers: ["ETag": "\"7\""]),
            answer(Self.user(""), headers: ["ETag": "\"8\""]),
            answer(#"{"error": "why"}"#, status: 412), answer(Self.user("")),
        ])
        let client = script.backend()
        let known = try await client.user("ann")
        #expect(known.tag == "\"7\"")
        #expect(try await client.change("ann", ["language": "fr"], since: known).tag == "\"8\"")
        await #expect(throws: TurnstoneError.changed("why")) {
            try await client.change("ann", ["language": "fr"], since: known)
        }
        #expect(try await client.change("ann", ["language": "fr"]).tag == nil)
        #expect(
            await script.requests.map { $0.headers["If-Match"] } == [nil, "\"7\"", "\"7\"", nil])
    }

    @Test func aProfileIsChangedOnlyIfNobodyElseHas() async throws {
        let profile = #"{"success": true, "profile": {"language": "de"}}"#
        let answers = [
            answer(profile, headers: ["ETag": "\"7\""]),
            answer(profile, headers: ["ETag": "\"8\""]),
            answer(#"{"error": "why"}"#, status: 412), answer(profile), answer(profile),
        ]
        let app = Script(answers)
        let known = try await app.app().taggedProfile()
        #expect(known.tag == "\"7\"" && known.members["language"] == "de")
        let changed = try await app.app().changeProfile(["language": "fr"], since: known)
        #expect(changed.tag == "\"8\"")
        await #expect(throws: TurnstoneError.changed("why")) {
            try await app.app().changeProfile(["language": "fr"], since: known)
        }
        #expect(try await app.app().changeProfile(["language": "fr"])["language"] == "de")
        let player = Script(answers)
        let read = try await player.player().taggedProfile()
        try await player.player().changeProfile(["language": "fr"], since: read)
        for script in [app, player] {
            let tags = await script.requests.map { $0.headers["If-Match"] }
            #expect(tags.prefix(2) == [nil, "\"7\""] && tags.dropFirst(3).allSatisfy { $0 == nil })
        }
    }

    @Test func aRegistrationNamesItsGatewayAndWhatItReplaces() async throws {
        let id = answer(#"{"success": true, "id": "d"}"#)
        let script = Script([id, id, id])
        let client = script.app()
        let tokens = [Data([1]), Data([2])].map { PushToken.apple($0) }
        let device = try await client.registerDevice(
            tokens[0], environment: .development, replacing: tokens[1], model: "iPhone15,2")
        #expect(device == "d")
        try await client.registerDevice(.android("new"), replacing: .android("old"))
        try await client.registerDevice(.web(["endpoint": "n"]), replacing: .web(["endpoint": "o"]))
        let requests = await script.requests
        #expect(requests.allSatisfy { $0.url.path == "/go/api/push/register" })
        let bodies = try requests.map(body)
        #expect(
            bodies == [
                [
                    "platform": "ios", "token": "01", "tokenType": "device",
                    "environment": "development", "previousToken": "02", "model": "iPhone15,2",
                ],
                [
                    "platform": "android", "token": "new", "tokenType": "device",
                    "previousToken": "old",
                ],
                [
                    "platform": "web", "subscription": ["endpoint": "n"], "tokenType": "device",
                    "previousSubscription": ["endpoint": "o"],
                ],
            ])
    }

    @Test func aTimelineHasPages() async throws {
        let page = answer(#"{"success": true, "next": "apns.2026-11-21.1.4096"}"#)
        let script = Script([page, page])
        let next = try await script.backend().status(of: "ann")["next"]?.string
        _ = try await script.backend().status(of: "ann", after: next, limit: 5)
        #expect(
            await script.requests.map(\.url.absoluteString) == [
                "https://push.example.org/go/api/status/ann?limit=100",
                "https://push.example.org/go/api/status/ann?limit=5&after=apns.2026-11-21.1.4096",
            ])
    }

    @Test func aPlayersBrowserGetsItsKey() async throws {
        let script = Script([answer(#"{"success": true, "vapid_public_key": "BA"}"#)])
        #expect(try await script.player().webPushKey() == "BA")
        #expect(await script.requests.map(\.url.path) == ["/go/api/push/config"])
    }

    private static let registrations: [@Sendable (Script) async throws -> Void] = [
        { try await $0.player().register(.android("t")) },
        { try await $0.app().register(.android("t")) },
        { try await $0.app().registerDevice(.android("t")) },
        { try await $0.app().registerActivity(Data([1]), activity: "a") },
        { try await $0.app().registerActivityStart(Data([1]), attributesType: "Game") },
    ]

    @Test("a device without an id is none", arguments: registrations.indices)
    func emptyID(call: Int) async {
        let script = Script([
            answer(#"{"success": true, "id": "", "data": {"id": "", "platform": "android"}}"#)
        ])
        await #expect(throws: TurnstoneError.unexpected("the answer has no id")) {
            try await Self.registrations[call](script)
        }
    }

    @Test("what may be half done is not repeated", arguments: ["a channel", "a key"])
    func halfDone(what: String) async throws {
        let own = #"{"error": "busy"}"#
        let done = answer(
            #"{"id": "AA==", "messageStoragePolicy": "none", "environment": "production", "api_key": "1b"}"#
        )
        let script = Script([
            answer(own, status: 429, headers: ["Retry-After": "3"]), done,
            answer(own, status: 503, headers: ["Retry-After": "1"]), done,
        ])
        func call() async throws {
            if what == "a key" {
                _ = try await script.player().rotateKey()
            } else {
                _ = try await script.backend().makeChannel(keepsNewest: false)
            }
        }
        try await call()
        await #expect(throws: TurnstoneError.later(after: .seconds(1), "busy")) {
            try await call()
        }
        #expect(await script.pauses == [.seconds(3)])
        #expect(await script.requests.count == 3)
    }

    /// It erases what is left.
    @Test func anErasureIsRepeated() async throws {
        let script = Script([
            answer(#"{"error": "busy"}"#, status: 503, headers: ["Retry-After": "1"]),
            answer(
                #"{"success": true, "erased": {"devices": 0, "apiKeys": 0, "pushes": 0, "receipts": 4, "files": 5}}"#
            ),
        ])
        #expect(try await script.backend().erase("ann").receipts == 4)
        #expect(await script.requests.map(\.method) == ["DELETE", "DELETE"])
    }

    @Test func aKeyThatIsWrittenInJSONsWayIsNotInTheError() async throws {
        let key = #"ab/cd+ef/gh"ij\kl"#
        let spellings = [
            #"ab/cd+ef/gh\"ij\\kl"#, #"ab\/cd+ef\/gh\"ij\\kl"#,
        ]
        for spelling in spellings {
            let script = Script([answer(#"{"error": "bad key \#(spelling)!"}"#, status: 403)])
            let client = ServerClient(at: Script.base, key: key, transport: script, patience: .none)
            await #expect(throws: TurnstoneError.forbidden("bad key …!")) {
                try await client.segments()
            }
        }
    }
}

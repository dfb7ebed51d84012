import Foundation
import Testing
import TurnstoneKit

/// Which requests are sent again after a 503, of which a part may have been done.
@Suite struct RepetitionTests {
    typealias Call = CallTests.Call

    private static let busy = refusal(503)

    private static func refusal(_ status: Int, _ others: String = "") -> HTTPAnswer {
        HTTPAnswer(
            status: status, headers: ["Retry-After": "1"],
            body: Data(#"{"success": false, "error": "why"\#(others)}"#.utf8))
    }

    /// An answer to whatever reads or changes a profile or preferences.
    private static func state(_ tag: String?) -> HTTPAnswer {
        let user =
            #"{"id": "ann", "devices": [], "preferences": {}, "profile": {}, "badge": 0, "apiKeys": 0}"#
        return HTTPAnswer(
            status: 200, headers: tag.map { ["ETag": $0] } ?? [:],
            body: Data(#"{"preferences": {}, "profile": {}, "user": \#(user)}"#.utf8))
    }

    private static func profile(_ tag: String? = "\"1\"") async throws -> Profile {
        try await Script([state(tag)]).app().taggedProfile()
    }

    private static func user(_ tag: String? = "\"1\"") async throws -> KnownUser {
        try await Script([state(tag)]).backend().user("ann")
    }

    private static let conditional = [
        Call("an app's profile") {
            try await $0.app().changeProfile(["language": "de"], since: profile())
        },
        Call("a player's profile") {
            try await $0.player().changeProfile(["language": "de"], since: profile())
        },
        Call("a user's profile") {
            try await $0.backend().change("ann", ["language": "de"], since: user())
        },
        Call("preferences") {
            try await $0.player().set(try await Script([state("\"1\"")]).player().preferences())
        },
    ]

    private static let uncountable = [
        Call("a session") { try await $0.app().changeProfile(["session": true]) },
        Call("a user's session") { try await $0.backend().change("ann", ["session": true]) },
        Call("a registration's session") {
            try await $0.app().register(.apple(Data([1])), profile: ["session": true])
        },
        Call("a device's session") {
            try await $0.app().registerDevice(.apple(Data([1])), profile: ["session": true])
        },
        Call("an activity's state without a moment") {
            try await $0.backend().updateActivity(ActivityTarget(user: "ann"), state: [:])
        },
        Call("an activity's alert") {
            try await $0.backend().updateActivity(
                ActivityTarget(user: "ann"), state: [:],
                others: ["timestamp": 1, "alert": ["title": "a", "body": "b"]])
        },
        Call("a channel") { _ = try await $0.backend().makeChannel(keepsNewest: true) },
        Call("a key") { _ = try await $0.player().rotateKey() },
    ]

    /// The change may have been made before the 503. The repetition of a conditional one would say that somebody else
    /// has made it.
    @Test(
        "what must not be done twice is not repeated after a 503",
        arguments: conditional + uncountable)
    func once(call: Call) async {
        let script = Script([Self.busy, Self.refusal(412)])
        let error = TurnstoneError.later(after: .seconds(1), "why")
        await #expect(throws: error) { try await call.run(script) }
        #expect(await script.requests.count == 1)
    }

    @Test("after a 429 it is repeated: nothing was done", arguments: conditional)
    func afterTooMany(call: Call) async throws {
        let script = Script([Self.refusal(429), Self.state("\"2\"")])
        try await call.run(script)
        #expect(await script.requests.map { $0.headers["If-Match"] } == ["\"1\"", "\"1\""])
    }

    private static let repeatable = [
        Call("a profile") { try await $0.app().changeProfile(["language": "de"]) },
        Call("preferences") { try await $0.app().set(NotificationPreferences()) },
        Call("a registration") {
            try await $0.app().register(.apple(Data([1])), profile: ["language": "de"])
        },
        Call("an activity's state") {
            try await $0.backend().updateActivity(
                ActivityTarget(user: "ann"), state: [:], others: ["timestamp": 1])
        },
        Call("an activity's end") {
            try await $0.backend().endActivity(ActivityTarget(user: "ann"))
        },
    ]

    @Test("what a repetition completes is repeated after a 503", arguments: repeatable)
    func repeated(call: Call) async {
        let script = Script([Self.busy, Self.busy, Self.busy])
        await #expect(throws: TurnstoneError.self) { try await call.run(script) }
        #expect(await script.requests.count == 3)
    }

    private static let removals =
        CallTests.removals + [Call("a user") { try await $0.backend().erase("ann") }]

    @Test("what is not there after a 503 was removed before it", arguments: removals)
    func removal(call: Call) async throws {
        let script = Script([Self.busy, Self.refusal(404)])
        try await call.run(script)
        #expect(await script.requests.map(\.method) == ["DELETE", "DELETE"])
    }

    /// The phone is another user's, too.
    @Test func aSharedDeviceIsRemoved() async throws {
        try await Script([Self.busy, Self.refusal(403)]).app().unregister("d")
        try await Script([Self.busy, Self.refusal(403)]).app().invalidate("d")
        await #expect(throws: TurnstoneError.forbidden("why")) {
            try await Script([Self.refusal(403)]).app().unregister("d")
        }
        await #expect(throws: TurnstoneError.forbidden("why")) {
            try await Script([Self.busy, Self.refusal(403)]).player().unregister("d")
        }
    }

    /// The client's own key may be another one, so this does not say that the key was revoked.
    @Test func aKeyIsNotRevokedBecauseTheClientsOwnWorksNoMore() async {
        let script = Script([Self.busy, Self.refusal(401)])
        await #expect(throws: TurnstoneError.unauthorized("why")) {
            try await script.player().revokeKey("k")
        }
    }

    @Test("what was never there was not removed", arguments: removals)
    func absent(call: Call) async {
        for answers in [[Self.refusal(404)], [Self.refusal(429), Self.refusal(404)]] {
            await #expect(throws: TurnstoneError.notFound("why")) {
                try await call.run(Script(answers))
            }
        }
        // Not the installation's.
        await #expect(throws: TurnstoneError.notFound("why")) {
            try await call.run(Script([Self.busy, Self.refusal(404, #", "ray": 1"#)]))
        }
    }

    @Test func anErasureThatWasDoneBeforeA503HasNoNumbers() async throws {
        let erased = try await Script([Self.busy, Self.refusal(404)]).backend().erase("ann")
        #expect(erased.devices + erased.files + erased.pushes + erased.unreadable == 0)
    }

    private static let untagged = [
        Call("an app's profile") {
            try await $0.app().changeProfile(["language": "de"], since: profile(nil))
        },
        Call("a player's profile") {
            try await $0.player().changeProfile(["language": "de"], since: profile(nil))
        },
        Call("a user's profile") {
            try await $0.backend().change("ann", ["language": "de"], since: user(nil))
        },
    ]

    /// A proxy may have removed it. The change would overwrite whatever is there.
    @Test("a change since a profile without a tag is not sent", arguments: untagged)
    func noTag(call: Call) async {
        let script = Script([Self.state("\"2\"")])
        await #expect(throws: TurnstoneError.invalid("the profile has no tag")) {
            try await call.run(script)
        }
        #expect(await script.requests.isEmpty)
    }

    @Test func aChangeSinceAnotherUsersProfileIsNotSent() async throws {
        let script = Script([Self.state("\"2\"")])
        let ann = try await Self.user()
        await #expect(throws: TurnstoneError.invalid("the profile is another user's")) {
            try await script.backend().change("bob", ["language": "de"], since: ann)
        }
        #expect(await script.requests.isEmpty)
    }
}

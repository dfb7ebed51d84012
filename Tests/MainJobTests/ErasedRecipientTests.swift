import JSON
import TestSupport
import Testing

/// Messages to several users, of whom one is erased before the message is sent.
@Suite struct ErasedRecipientTests {
    private let world: World

    init() throws {
        world = try World()
        try world.give("ann", devices: [1])
        try world.give("bob", devices: [2])
    }

    private func send() throws -> String {
        try world.sent(["users": ["ann", "bob"], "title": "Hello"])
    }

    private func erase(_ user: String) throws {
        let event = world.message("DELETE", "/api/users/\(user)")
        let answer = try Answer(event: world.startBackend("users", event).end().stdout)
        #expect(answer.status == 200, "\(answer.body)")
    }

    @Test func theMessageIsDoneAndNotCancelled() throws {
        let id = try send()
        try erase("bob")
        try world.run("deliver")
        let report = try world.report(id)
        #expect(report["counts"] == ["accepted": 1, "cancelled": 1])
        #expect(report["state"] == "done")
        #expect(try world.callOff(id).status == 409)
        #expect(try world.report(id)["state"] == "done")
    }

    @Test func aMessageThatIsCancelledLaterIsCancelled() throws {
        let id = try send()
        try erase("bob")
        let answer = try world.callOff(id)
        #expect(answer.status == 200 && answer.json?.object?["state"] == "cancelled")
        try world.run("deliver")
        #expect(try world.report(id)["state"] == "cancelled")
        #expect(try world.callOff(id).status == 200)
    }
}

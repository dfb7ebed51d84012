import TestSupport
import Testing
import Turnstone

/// Somebody puts an older copy of one user's document in its place while everything else goes on: a phone that
/// is another user's by now would be the user's again, and a mute be forgotten.
@Suite struct OlderCopyTests {
    private let world: World
    private let document = "users/49/ann.json"

    init() throws {
        world = try World()
        world.variables["JWT_SECRET"] = jwtSecret
        world.variables["TURNSTONE_SERVER_KEY"] = World.serverKey
        #expect(try claim(token(1), for: "ann") == 200)
    }

    private func claim(_ token: String, for user: String) throws -> Int {
        let body: JSONObject = ["token": .string(token), "tokenType": "device"]
        let event: JSONValue = [
            "method": "POST", "path": "/api/push/register",
            "headers": ["Authorization": .string(bearer(user))], "body": .object(body),
        ]
        return try Answer(event: world.start("push-register", event).end().stdout).status
    }

    private func ask(_ program: String, _ method: String, _ path: String) throws -> Answer {
        try Answer(event: world.startBackend(program, world.message(method, path)).end().stdout)
    }

    private func expectNothingSent(_ comment: Comment) throws {
        try world.run("deliver")
        #expect(try world.acceptedIDs() == [], comment)
        let health = try ask("health", "GET", "/health")
        #expect(health.body.contains("\(document) (stale)"), "\(health.body)")
    }

    @Test("a message that waits does not reach the phone's next owner")
    func accepted() throws {
        let old = try #require(world.state.read(document))
        let message = try world.sent(["users": ["ann"], "body": "Hello Ann"])
        #expect(try claim(token(1), for: "bob") == 200)
        let right = try #require(world.state.read(document))
        try world.state.write(old, to: document)
        try expectNothingSent("of \(message)")
        #expect(try world.report(message)["state"] != "done")
        // The operator puts the right one in its place.
        try world.state.write(right, to: document)
        try world.advance(seconds: 60)
        try world.run("deliver")
        #expect(try world.acceptedIDs() == [])
        #expect(try world.report(message)["counts"]?.object?["superseded"] == 1)
        #expect(try world.problems() == [])
    }

    @Test(
        "a message that comes then is not accepted for the older state, and all others are reached")
    func acceptedLater() throws {
        let old = try #require(world.state.read(document))
        #expect(try claim(token(2), for: "ben") == 200)
        #expect(try claim(token(1), for: "bob") == 200)
        try world.state.write(old, to: document)
        let alone = try world.notify(["users": ["ann"], "body": "Hello Ann"])
        #expect(alone.status == 500 || alone.json?.object?["devices"] == 0, "\(alone)")
        try expectNothingSent("after \(alone.status)")
        for users in [["ann", "bob", "ben"], ["bob", "ann"]] {
            let count = try world.acceptedIDs().count
            _ = try world.sent([
                "users": .array(users.map { .string($0) }), "body": "Hello everybody",
            ])
            try world.run("deliver")
            #expect(try world.acceptedIDs().count == count + users.count - 1)
        }
    }

    @Test("a mute is not forgotten, and no route answers with the older state")
    func muted() throws {
        let old = try #require(world.state.read(document))
        let mute: JSONObject = ["mutedUntil": "2026-11-30T07:00:00Z"]
        let event: JSONValue = [
            "method": "PUT", "path": "/api/preferences",
            "headers": ["Authorization": .string(bearer("ann"))], "body": .object(mute),
        ]
        #expect(
            try Answer(event: world.start("preferences", event).end().stdout).status == 200)
        let message = try world.sent(["users": ["ann"], "body": "Hello Ann"])
        try world.state.write(old, to: document)
        try expectNothingSent("of \(message)")
        #expect(try ask("users", "GET", "/api/users/ann").status == 500)
        let own: JSONValue = [
            "method": "GET", "path": "/api/devices",
            "headers": ["Authorization": .string(bearer("ann"))],
        ]
        #expect(try Answer(event: world.start("devices-list", own).end().stdout).status == 500)
    }
}

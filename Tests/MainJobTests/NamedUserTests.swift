import JSON
import TestSupport
import Testing
import Turnstone
import Unix

/// A user without an external id of OneSignal's routes gets one while something waits: it stays what it was.
@Suite struct NamedUserTests {
    static let app = "11111111-2222-4333-8444-555555555555"

    /// A user with one iPhone, who has no external id yet.
    private func world() throws -> (world: World, id: String) {
        let world = try World()
        world.variables["ONESIGNAL_APP_ID"] = Self.app
        let made = try world.answer(
            "onesignal-users", "POST", "/apps/\(Self.app)/users",
            ["subscriptions": [["type": "iOSPush", "token": .string(token(1)), "enabled": true]]])
        guard let id = made.json?.object?["identity"]?.object?["onesignal_id"]?.string else {
            throw TestFailure("\(made.status) \(made.body)")
        }
        return (world, id)
    }

    private func name(_ id: String, in world: World) throws {
        let named = try world.answer(
            "onesignal-users", "PATCH", "/apps/\(Self.app)/users/by/onesignal_id/\(id)/identity",
            ["identity": ["external_id": "ann"]])
        #expect(named.status == 200, "\(named.body)")
    }

    @Test("an older message does not follow a newer one", arguments: [false, true])
    func order(isToEverybody: Bool) throws {
        let (world, id) = try world()
        try world.simulator.perform(["do": "apns-fault", "status": 503, "count": 1])
        let to: JSONObject = isToEverybody ? ["everyone": true] : ["users": [.string(id)]]
        var older: JSONObject = ["title": "Older", "collapse_id": "c"]
        for member in to.members { older[member.name] = member.value }
        let first = try world.sent(older)
        try world.run("deliver")
        try name(id, in: world)
        let second = try world.sent(["users": ["ann"], "title": "Newer", "collapse_id": "c"])
        for _ in 1...3 {
            try world.run("deliver")
            try world.advance(seconds: 1800)
        }
        #expect(try world.titles() == ["Newer"])
        #expect(try world.report(first)["counts"] == ["superseded": 1])
        #expect(try world.report(second)["counts"] == ["accepted": 1])
        #expect(world.spooled().isEmpty)
    }

    @Test("a push that may have arrived cannot be cancelled, and the answer says so")
    func beyondRecall() throws {
        let (world, id) = try world()
        try world.simulator.perform(["do": "apns-fault", "kind": "drop", "count": 1])
        let message = try world.sent(["users": [.string(id)], "title": "Hello"])
        try world.run("deliver")
        let answer = try world.answer(
            "onesignal-notifications", "DELETE", "/notifications/\(message)?app_id=\(Self.app)")
        #expect(answer.status == 400, "\(answer.body)")
        try world.advance(seconds: 1800)
        try world.run("deliver")
        #expect(try world.report(message)["counts"] == ["accepted": 1])
        // What is certainly not sent can be.
        try world.simulator.perform(["do": "apns-fault", "status": 503, "count": 1])
        let second = try world.sent(["users": [.string(id)], "title": "Hello again"])
        try world.run("deliver")
        let other = try world.answer(
            "onesignal-notifications", "DELETE", "/notifications/\(second)?app_id=\(Self.app)")
        #expect(other.status == 200, "\(other.body)")
        #expect(try world.report(second)["counts"] == ["cancelled": 1])
    }

    @Test("a repeated notification gets the first answer though a segment of it is gone")
    func segmentGone() throws {
        let (world, _) = try world()
        func ask(_ method: String, _ path: String, _ body: JSONObject? = nil) throws -> Answer {
            try world.answer(
                "onesignal-segments", method, "/apps/\(Self.app)/segments\(path)", body)
        }
        let filters: JSONValue = [
            ["field": "tag", "key": "a", "relation": "=", "value": "1"]
        ]
        let made = try ask("POST", "", ["name": "Some", "filters": filters])
        let id = try #require(made.json?.object?["id"]?.string)
        let body: JSONObject = [
            "app_id": .string(Self.app), "contents": ["en": "Hello"],
            "included_segments": ["Subscribed Users"], "excluded_segments": ["Some"],
            "idempotency_key": "6f9b1d5e-5a0f-4d2a-9d43-0d1d2e3f4a5b",
        ]
        let first = try world.answer("onesignal-notifications", "POST", "/notifications", body)
        #expect(try ask("DELETE", "/\(id)").status == 200)
        let again = try world.answer("onesignal-notifications", "POST", "/notifications", body)
        #expect(first.status == 200 && again.status == 200 && again.body == first.body, "\(again)")
    }

    @Test("so it does though a recipient is gone and another one known, and names no erased user")
    func recipientsGone() throws {
        let (world, id) = try world()
        try name(id, in: world)
        let body: JSONObject = [
            "app_id": .string(Self.app), "contents": ["en": "Hello"],
            "include_aliases": ["external_id": ["ann", "zoe"]], "target_channel": "push",
            "idempotency_key": "6f9b1d5e-5a0f-4d2a-9d43-0d1d2e3f4a5c",
        ]
        let first = try world.answer("onesignal-notifications", "POST", "/notifications", body)
        #expect(first.status == 200 && first.body.contains("zoe"), "\(first.body)")
        try world.give("zoe", devices: 2...2)
        #expect(try world.answer("users", "DELETE", "/api/users/ann").status == 200)
        let again = try world.answer("onesignal-notifications", "POST", "/notifications", body)
        #expect(again.status == 200 && again.body == first.body, "\(again.body)")
        #expect(try world.answer("users", "DELETE", "/api/users/zoe").status == 200)
        for (file, bytes) in world.state.files() {
            let text = String(decoding: bytes, as: UTF8.self)
            #expect(!text.contains("zoe") && !text.contains(#""ann""#), "\(file)")
        }
        let last = try world.answer("onesignal-notifications", "POST", "/notifications", body)
        #expect(last.status == 200 && !last.body.contains("zoe"), "\(last.body)")
    }

    @Test("what is held arrives when a mute under the new id ends")
    func held() throws {
        let (world, id) = try world()
        world.variables["JWT_SECRET"] = jwtSecret
        try world.prefer(["mutedUntil": "2027-01-01T00:00:00Z"], by: id)
        let first = try world.sent(["users": [.string(id)], "title": "One"])
        try world.run("deliver")
        try name(id, in: world)
        let second = try world.sent(["users": ["ann"], "title": "Two"])
        try world.run("deliver")
        #expect(try world.titles() == [])
        try world.prefer(["mutedUntil": .null], by: "ann")
        try world.run("deliver")
        for message in [first, second] {
            let report = try world.report(message)
            #expect(report["counts"] == ["accepted": 1], "\(report)")
        }
    }

    @Test("a badge that was counted is taken back", arguments: ["deleted", "expired"])
    func badge(fate: String) throws {
        let (world, id) = try world()
        try world.simulator.perform(
            ["do": "apns-fault", "status": 429, "count": 1, "retry_after": 60])
        let message = try world.sent(
            ["users": [.string(id)], "title": "One", "badge": "+1", "expires_in": 600])
        try world.run("deliver")
        try name(id, in: world)
        if fate == "deleted" {
            #expect(try world.callOff(message).status == 200)
        } else {
            try world.advance(seconds: 3600)
        }
        try world.run("deliver")
        let answer = try world.answer("users", "GET", "/api/users/ann")
        #expect(answer.json?.object?["user"]?.object?["badge"] == 0, "\(answer.body)")
    }

    @Test("a Live Activity's waiting state and its end arrive", arguments: ["update", "end"])
    func activity(event: String) throws {
        let (world, id) = try world()
        try world.registerActivity(token: 2, of: id)
        #expect(try world.update(["n": 1]).status == 202)
        try world.run("deliver")
        try world.advance(seconds: 3)
        if event == "end" {
            try world.simulator.perform(
                ["do": "apns-fault", "status": 429, "count": 1, "retry_after": 20])
        }
        #expect(try world.update(["n": 2], ["event": .string(event)]).status == 202)
        try world.run("deliver")
        try name(id, in: world)
        try world.advance(seconds: 60)
        try world.run("deliver")
        #expect(try world.simulator.pushes().filter { $0["accepted"] == true }.count == 2)
        #expect(world.spooled().isEmpty)
    }

    @Test(
        "who gets an external_id after an erasure has found the user is erased too",
        arguments: ["onesignal-users", "users"])
    func erasure(program: String) throws {
        let (world, id) = try world()
        let name = try #require(world.state.files().keys.first { $0.hasSuffix("/\(id).json") })
        let shard = name.split(separator: "/")[1]
        let path = "\(world.state.path)/locks/erasures/\(shard).lock"
        try Files.makeFolder(Files.parent(of: path))
        let lock = try FileDescriptor.open(path, .update)
        #expect(try lock.tryLock())
        let place =
            program == "users"
            ? "/api/users/\(id)" : "/apps/\(Self.app)/users/by/onesignal_id/\(id)"
        let erasure = try world.startBackend(program, world.message("DELETE", place))
        try world.wait(for: erasure, toOpen: "erasures")
        try self.name(id, in: world)
        lock.unlock()
        let answer = try Answer(event: erasure.end().stdout)
        #expect(answer.status == 200, "\(answer.body)")
        #expect(try world.answer("users", "GET", "/api/users/ann").status == 404)
        let left = world.state.files().filter { file, content in
            String(decoding: content, as: UTF8.self).contains("\"ann\"") || file.contains("ann.")
        }
        #expect(left.isEmpty, "\(left.keys)")
    }

    @Test("the history goes on")
    func history() throws {
        let (world, id) = try world()
        world.variables["JWT_SECRET"] = jwtSecret
        let first = try world.sent(["users": [.string(id)], "title": "One"])
        try world.run("deliver")
        try name(id, in: world)
        try world.advance(seconds: 1)
        let second = try world.sent(["users": ["ann"], "title": "Two"])
        try world.run("deliver")
        let event: JSONValue = [
            "method": "GET", "path": "/api/notifications",
            "headers": ["Authorization": .string(bearer("ann"))],
        ]
        let answer = try Answer(event: world.start("notifications", event).end().stdout)
        let entries = answer.json?.object?["notifications"]?.array ?? []
        #expect(
            entries.compactMap { $0.object?["id"]?.string } == [second, first], "\(answer.body)")
    }
}

extension World {
    fileprivate func answer(
        _ program: String, _ method: String, _ path: String, _ body: JSONObject? = nil
    ) throws -> Answer {
        try Answer(event: startBackend(program, message(method, path, body)).end().stdout)
    }

    /// The titles of the pushes that APNs took.
    fileprivate func titles() throws -> [String] {
        try simulator.pushes().filter { $0["accepted"] == true }.compactMap {
            $0["payload"]?.object?["aps"]?.object?["alert"]?.object?["title"]?.string
        }
    }

    fileprivate func prefer(_ preferences: JSONObject, by user: String) throws {
        let event: JSONValue = [
            "method": "PUT", "path": "/api/preferences",
            "headers": ["Authorization": .string(bearer(user))], "body": .object(preferences),
        ]
        let answer = try Answer(event: start("preferences", event).end().stdout)
        #expect(answer.status == 200, "\(answer.body)")
    }
}

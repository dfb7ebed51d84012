import Foundation
import JSON
import TestSupport
import Testing
import Turnstone

#if canImport(Glibc)
    import Glibc
#endif

/// `DELETE /api/users/{id}` of a player whose opponents stay.
@Suite struct ErasedPlayerTests {
    /// It comes about by no chance, in a number or a hash.
    private static let player: Int64 = 917_364_285

    private func erase(_ world: World) throws -> Answer {
        let event = world.message("DELETE", "/api/users/\(Self.player)")
        return try Answer(event: world.startBackend("users", event).end().stdout)
    }

    private func mentions(_ world: World) -> [String] {
        let bytes = Data("\(Self.player)".utf8)
        return world.state.files().filter { name, content in
            name.contains("\(Self.player)") || Data(content).range(of: bytes) != nil
        }.map(\.key).sorted()
    }

    @Test("a player with a damaged document is erased by the first request", arguments: ["{", ""])
    func damaged(content: String) throws {
        let world = try World()
        try world.register(token(1), of: Self.player)
        let name = try #require(
            world.state.files().keys.first { $0.hasSuffix("/\(Self.player).json") })
        try world.state.write(content, to: name)
        let answer = try erase(world)
        #expect(answer.status == 200, "\(answer.body)")
        #expect(mentions(world) == [])
        #expect(try erase(world).status == 404)
    }

    @Test("a player is erased from opponents' looks and queued notices, which still go out")
    func opponents() throws {
        let world = try World()
        let game: JSONObject = [
            "black": 1, "white": .integer(Self.player), "to_move": .integer(Self.player),
            "name": .string("Game of \(Self.player)"),
        ]
        try world.beginGame(7, game)
        try world.register(token(1), of: 1)
        try world.register(token(2), of: Self.player)
        try world.cycle()
        try world.move(7)
        try world.advance(seconds: 31)
        try world.run("check-turns")
        #expect(mentions(world).contains { $0.hasPrefix("spool/") })
        #expect(mentions(world).contains { $0.hasPrefix("looks/") && $0.hasSuffix("/1.json") })
        let answer = try erase(world)
        #expect(answer.status == 200, "\(answer.body)")
        #expect(mentions(world) == [])
        #expect(try erase(world).status == 404)
        try world.run("deliver")
        let pushes = try world.simulator.pushes().filter {
            $0["accepted"] == true && $0["token"] == .string(token(1))
        }
        let last = try #require(pushes.last?["payload"]?.object)
        let alert = last["aps"]?.object?["alert"]
        #expect(alert == ["title": "Your turn in Go!", "body": "It's your turn in: game 7"])
        #expect(last["game_id"] == 7 && last["game_name"] == "game 7")
        // The next look finds the game as Online-Go.com shows it.
        let answers = try world.ask("check", "GET", "/check/1", by: 1)
        #expect(answers.status == 200, "\(answers.body)")
    }

    @Test(
        "a look that waits for Online-Go.com meanwhile leaves nothing",
        arguments: ["check", "diagnostics", "check-turns"])
    func lookUnderWay(program: String) throws {
        let world = try World()
        let game: JSONObject = [
            "black": 1, "white": .integer(Self.player), "to_move": .integer(Self.player),
        ]
        try world.beginGame(7, game)
        try world.register(token(2), of: Self.player)
        try world.advance(seconds: 31)
        let asked = try world.simulator.report("ogs")["requests"]?.integer ?? 0
        try world.simulator.perform(["do": "ogs-fault", "kind": "delay", "ms": 1000, "count": 1])
        let request =
            program == "check-turns"
            ? nil : try world.event("GET", "/\(program)/\(Self.player)", by: Self.player)
        let look = try world.start(program, request)
        while (try world.simulator.report("ogs")["requests"]?.integer ?? 0) == asked {
            usleep(5000)
        }
        let answer = try erase(world)
        #expect(answer.status == 200, "\(answer.body)")
        _ = try look.end()
        #expect(mentions(world) == [])
    }

    @Test("an erasure says so while a notification that names the user is being written")
    func youngLeftover() throws {
        let world = try World()
        try world.register(token(2), of: Self.player)
        let id = "c0dec0de-0000-4000-8000-000000000000"
        let name = "spool/apns/ready/normal/\(id).jsonl.new"
        try world.state.write(
            Array("{\"version\":1,\"id\":\"\(id)\",\"user\":\"\(Self.player)\"".utf8), to: name)
        let first = try erase(world)
        #expect(first.status == 503, "\(first.body)")
        #expect(mentions(world).contains(name))
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: -600)],
            ofItemAtPath: "\(world.state.path)/\(name)")
        let second = try erase(world)
        #expect(second.status == 200, "\(second.body)")
        #expect(mentions(world) == [])
    }

    @Test(
        "earlier days' receipts are read while a drainer may deliver",
        .enabled(if: SystemCalls.isPossible))
    func closedReceipts() throws {
        let world = try World()
        try world.register(token(2), of: Self.player)
        _ = try world.sent(["users": [.string("\(Self.player)")], "title": "Hello"])
        try world.run("deliver")
        let today = try #require(world.state.read("receipts/2026-11-21.apns.1.jsonl"))
        let earlier = "receipts/2026-11-20.apns.1.jsonl"
        try world.state.write(today, to: earlier)
        world.variables["TURNSTONE_SERVER_KEY"] = World.serverKey
        let (calls, ended) = try SystemCalls.of(
            Programs.path("users"), ["openat", "flock"],
            input: JSON.text(world.message("DELETE", "/api/users/\(Self.player)")),
            environment: world.environment)
        #expect(try Answer(event: ended.stdout).status == 200, "\(ended.stdout)")
        #expect(mentions(world) == [])
        let opened = try #require(
            calls.calls.firstIndex { $0.text(0)?.hasSuffix("/drainer.lock") == true })
        let file = try #require(calls.calls[opened].result)
        let released = try #require(
            calls.calls[opened...].firstIndex {
                $0.name == "flock" && $0.arguments == "\(file), LOCK_UN"
            })
        let read = calls.calls.indices.filter {
            calls.calls[$0].text(0)?.hasSuffix(earlier) == true
        }
        #expect(!read.isEmpty && read.allSatisfy { $0 > released })
    }
}

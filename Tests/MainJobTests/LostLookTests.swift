import Foundation
import JSON
import TestSupport
import Testing
import Turnstone

/// OGS's last answer is kept in `looks/`, which is only a cache.
@Suite struct LostLookTests {
    private static let odd = [
        ##"{"id":7,"name":"a\u0000b","json":{"phase":"play","clock":{"current_player":1,"last_move":1795262400000}}}"##,
        ##"{"id":7,"name":"\u0000","black":{"id":1,"username":"\u0000"},"json":{"phase":"play","clock":{"current_player":1}}}"##,
        ##"{"id":8,"json":{"phase":"x\u0000"}},{"id":7,"json":{"phase":"play","clock":{"current_player":1},"removed":"\u0000"}}"##,
        ##"{"id":7,"json":{"phase":"play","time_control":{"speed":"\u0000"},"clock":{"current_player":1}}}"##,
        ##"{"id":8,"json":{"phase":"play","pause_control":{"\u0000":1}}},{"id":7,"json":{"phase":"play","clock":{"current_player":1}}}"##,
        ##"{"id":7,"name":"\ud800\udc00\udfff\ud800","json":{"phase":"play","clock":{"current_player":1,"last_move":9e17}}}"##,
        ##"{"id":7,"name":"\u0001\u001f\"\\","json":{"phase":"play","clock":{"current_player":1,"last_move":-9223372036854775808,"expiration":9223372036854775807}}}"##,
        ##"{"id":9223372036854775807,"json":{"phase":"play"}},{"id":7,"id":7,"json":{"phase":"play","clock":{"current_player":1.0}}}"##,
    ]

    @Test("whatever OGS names things, stored looks can be read again", arguments: odd)
    func oddNames(games: String) throws {
        let world = try World()
        let body = #"{"active_games":[\#(games)]}"#
        try world.simulator.perform(["do": "raw", "player": 1, "body": .string(body)])
        try world.register(token(1), of: 1)
        #expect(try world.cycle()["looked"] == 1)
        #expect(try world.acceptedIDs().count == 1)
        for path in ["/check/1", "/diagnostics/1", "/check/1"] {
            let program = path == "/check/1" ? "check" : "diagnostics"
            let answer = try world.ask(program, "GET", path, by: 1)
            #expect(answer.status == 200, "\(path): \(answer.body)")
            try world.advance(seconds: 11)
        }
        let more = body.replacing("]}", with: #",{"id":99,"json":{"phase":"play"}}]}"#)
        try world.simulator.perform(["do": "raw", "player": 1, "body": .string(more)])
        #expect(try world.cycle()["failed"] == 0)
        #expect(world.damagedDocuments().isEmpty)
        #expect(!world.state.files().keys.contains { $0.contains("corrupt") })
        #expect(try world.acceptedIDs().count == 1)
    }

    @Test(
        "anything in the place of a look's file does no harm",
        arguments: ["", ".lock", ".new"])
    func obstacles(suffix: String) throws {
        for kind in [S_IFIFO, S_IFDIR, S_IFLNK] {
            let world = try World()
            try world.beginGame(7, ["to_move": 1])
            try world.register(token(1), of: 1)
            try world.cycle()
            let name = try #require(
                world.state.files().keys.first { $0.hasPrefix("looks/") && $0.hasSuffix("/1.json") }
            )
            let path = "\(world.state.path)/\(name)\(suffix)"
            unlink(path)
            switch kind {
            case S_IFIFO: mkfifo(path, 0o600)
            case S_IFDIR: mkdir(path, 0o700)
            default: symlink(path, path)
            }
            try world.beginGame(8, ["to_move": 1])
            try world.advance(seconds: 31)
            let cycle = try world.start("check-turns").end(timeLimit: 20)
            #expect(cycle.exitCode == 0 && !cycle.stdout.contains("failed"), "\(cycle.stderr)")
            try world.run("deliver")
            #expect(try world.acceptedIDs().count == 2)
            let answer = try world.ask("check", "GET", "/check/1", by: 1)
            #expect(answer.status == 200, "\(answer.body)")
        }
    }

    static let damages = [
        nil, "", "{", "[]", #"{"version":1,"revision":1}"#,
        #"{"version":2,"revision":9,"at":0,"games":[]}"#,
        #"{"version":1,"revision":1,"at":1,"games":[]}"#,
    ]

    @Test(
        "a look that is lost, damaged or out of date is made again, and no turn is lost",
        arguments: damages, [false, true])
    func damage(to text: String?, hasEntityTags: Bool) throws {
        let world = try World()
        try world.simulator.perform(["do": "etags", "on": .bool(hasEntityTags)])
        try world.beginGame(7, ["to_move": 1])
        try world.register(token(1), of: 1)
        try world.cycle()
        let name = try #require(
            world.state.files().keys.first { $0.hasPrefix("looks/") && $0.hasSuffix("/1.json") })
        let whole = try #require(world.state.read(name))

        for path in ["/check/1", "/diagnostics/1"] {
            try damage(name, text, in: world)
            let program = path == "/check/1" ? "check" : "diagnostics"
            let before = try world.simulator.ogs()["requests"]?.integer ?? 0
            for _ in 0..<3 {
                let answer = try world.ask(program, "GET", path, by: 1)
                #expect(answer.status == 200, "\(path): \(answer.body)")
                #expect(answer.body.contains("7"))
            }
            #expect(try world.simulator.ogs()["requests"]?.integer == before + 1)
            #expect(try games(name, in: world) == JSON.parse(whole).object?["games"])
        }
        try damage(name, text, in: world)
        #expect(try world.cycle()["failed"] == 0)
        try world.move()
        try world.move()
        #expect(try world.cycle()["notices"] == 1)
        #expect(try world.acceptedIDs().count == 2)
        #expect(!world.state.files().keys.contains { $0.contains("corrupt") })
    }

    private func games(_ name: String, in world: World) throws -> JSONValue? {
        try JSON.parse(#require(world.state.read(name))).object?["games"]
    }

    private func damage(_ name: String, _ text: String?, in world: World) throws {
        try world.advance(seconds: 1)
        if let text { return try world.state.write(text, to: name) }
        try FileManager.default.removeItem(atPath: "\(world.state.path)/\(name)")
    }

    @Test("a turn that waits for the morning is sent even if its look is lost in the night")
    func lostWhileHeld() throws {
        let world = try World()
        try world.simulator.perform(["do": "etags", "on": true])
        try world.beginGame(7, ["to_move": 1])
        try world.register(token(1), of: 1)
        let quiet: JSONValue = [
            "quietHours": ["from": "11:00", "to": "13:00", "timeZone": "UTC"]
        ]
        let answer = try world.ask("preferences", "PUT", "/api/preferences", by: 1, quiet)
        #expect(answer.status == 200, "\(answer.body)")
        #expect(try world.cycle()["notices"] == 0)
        let name = try #require(
            world.state.files().keys.first { $0.hasPrefix("looks/") && $0.hasSuffix("/1.json") })
        try world.state.write("{", to: name)
        try world.cycle()
        try world.advance(seconds: 7200)
        try world.cycle()
        try world.cycle()
        #expect(try world.acceptedIDs().count == 1)
    }
}

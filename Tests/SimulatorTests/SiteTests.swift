import HTTP2
import JSON
import TestSupport
import Testing
import Turnstone

@Suite struct SiteTests {
    private let simulator: Simulator
    private let client: Client

    init() throws {
        simulator = try Simulator()
        client = try Client(simulator, .ogs)
        try simulator.perform(["do": "game", "game": 7, "black": 1, "white": 2, "name": "Old"])
    }

    private func fields(_ player: Int = 1, _ more: [String: String?] = [:]) -> [(String, String)] {
        let usual: [(String, String)] = [
            (":method", "GET"), (":scheme", "https"), (":authority", "127.0.0.1"),
            (":path", "/api/v1/players/\(player)/full"),
            ("user-agent", "Turnstone/1.0 (+https://turnstone.example)"),
            ("accept-encoding", "gzip"),
        ]
        let kept = usual.compactMap { field -> (String, String)? in
            guard let changed = more[field.0] else { return field }
            return changed.map { (field.0, $0) }
        }
        let new = more.filter { name, _ in !usual.contains { $0.0 == name } }
        return kept + new.compactMap { name, value in value.map { (name, $0) } }
    }

    private func game(of player: Int = 1) throws -> JSONObject {
        let answer = try client.answer(fields(player))
        guard let game = answer.json?["active_games"]?.array?.first?.object,
            let data = game["json"]?.object
        else { throw TestFailure("there is no game in \(answer.status)") }
        return data
    }

    @Test(
        "what OGS's operators would not like is refused and listed",
        arguments: [
            ("user-agent", nil), ("user-agent", "curl/7.88.1"),
            ("user-agent", "Go-http-client/2.0"), ("user-agent", ""),
            ("user-agent", "Turnstone (me@example.org)"), ("accept-encoding", nil),
            ("cookie", "a=b"), ("authorization", "bearer x"), (":method", "POST"),
        ] as [(String, String?)])
    func manners(name: String, value: String?) throws {
        #expect(try client.answer(fields(1, [name: value])).status == 400)
        #expect(try simulator.ogs()["violations"]?.array?.count == 1)
    }

    @Test("only a known player's games and profile are answered")
    func paths() throws {
        #expect(try client.answer(fields(1)).status == 200)
        #expect(try client.answer(fields(3)).status == 404)
        #expect(try client.answer(fields(1, [":path": "/api/v1/players/1"])).status == 200)
        #expect(try client.answer(fields(3, [":path": "/api/v1/players/3"])).status == 404)
        #expect(try client.answer(fields(1, [":path": "/api/v1/players/1/games"])).status == 404)
    }

    @Test("a move lengthens the list and turns the clock")
    func move() throws {
        #expect(try game()["clock"]?.object?["current_player"] == 1)
        try simulator.perform(["do": "move", "game": 7, "now": 4_102_444_800_000])
        let moved = try game()
        #expect(moved["moves"]?.array?.count == 1)
        let clock = moved["clock"]?.object
        #expect(clock?["current_player"] == 2)
        #expect(clock?["last_move"] == 4_102_444_800_000)
        #expect(clock?["expiration"] == 4_103_049_600_000)
        try simulator.perform(["do": "move", "player": 2])
        #expect(try game()["clock"]?.object?["current_player"] == 2)
        #expect(try game()["moves"]?.array?.count == 3)
        try simulator.perform(["do": "undo", "game": 7])
        #expect(try game()["moves"]?.array?.count == 2)
    }

    @Test("stone removal ends when both accepted")
    func stoneRemoval() throws {
        try simulator.perform(["do": "pass", "game": 7])
        #expect(try game()["phase"] == "stone removal")
        #expect(try game()["pause_control"]?.object?["stone-removal"] == true)
        try simulator.perform(["do": "accept", "game": 7, "player": 1])
        let black = try game()["players"]?.object?["black"]?.object
        #expect(try black?["accepted_stones"] == game()["removed"])
        try simulator.perform(["do": "accept", "game": 7, "player": 2])
        #expect(try client.answer(fields()).json?["active_games"] == [])
    }

    @Test("a pause has its key", arguments: ["weekend", "vacation", "paused", "moderator"])
    func pause(kind: String) throws {
        try simulator.perform(
            ["do": "pause", "game": 7, "kind": .string(kind), "player": 1])
        #expect(try game()["pause_control"]?.object?.members.count == 1)
        try simulator.perform(["do": "resume", "game": 7])
        #expect(try game()["pause_control"] == nil)
    }

    @Test("only a pause moves the clock, however often the game is resumed")
    func resume() throws {
        try simulator.perform(["do": "clock", "now": 4_102_444_800_000])
        try simulator.perform(["do": "move", "game": 7])
        try simulator.perform(["do": "pause", "game": 7, "kind": "weekend"])
        for _ in 1...3 {
            try simulator.perform(["do": "clock", "advance_ms": 1000])
            try simulator.perform(["do": "resume", "game": 7])
        }
        #expect(try game()["clock"]?.object?["expiration"] == 4_103_049_601_000)
    }

    @Test("an answer to HEAD has no body")
    func head() throws {
        let answer = try client.answer(fields(1, [":method": "HEAD"]))
        #expect(answer.status == 400)
        #expect(answer.body.isEmpty)
    }

    @Test("a game can be as odd as a test wants")
    func odd() throws {
        try simulator.perform([
            "do": "game", "game": 8, "black": 4, "white": 5, "moves": 300, "speed": "live",
            "json": ["clock": ["current_player": "x"], "private": true], "without": ["moves"],
        ])
        let data = try game(of: 4)
        #expect(data["clock"]?.object?["current_player"] == "x")
        #expect(data["clock"]?.object?["last_move"] != nil)
        #expect(data["moves"] == nil)
        try simulator.perform(["do": "raw", "player": 4, "body": "nonsense"])
        #expect(try client.answer(fields(4)).body == Array("nonsense".utf8))
    }

    @Test("trouble comes as often as requested")
    func trouble() throws {
        try simulator.perform(["do": "ogs-fault", "status": 429, "retry_after": 7, "count": 1])
        let limited = try client.answer(fields())
        #expect(limited.status == 429)
        #expect(limited.fields["retry-after"] == "7")
        try simulator.perform(["do": "ogs-fault", "kind": "html", "count": 1])
        #expect(try client.answer(fields()).body.first == UInt8(ascii: "<"))
        try simulator.perform(["do": "ogs-fault", "kind": "missing", "count": 1])
        #expect(try client.answer(fields()).json?["active_games"] == nil)
        try simulator.perform(["do": "ogs-fault", "kind": "cut", "count": 1])
        #expect(try client.ask(fields()).status == -1)
        try simulator.perform(["do": "ogs-fault", "status": 503, "player": 2])
        #expect(try client.answer(fields(1)).status == 200)
        #expect(try client.answer(fields(2)).status == 503)
        try simulator.perform(["do": "clear"])
        try simulator.perform(["do": "ogs-fault", "kind": "drop"])
        #expect(try client.ask(fields()).status == -1)
    }

    @Test("an unchanged answer has the same ETag and gets 304")
    func entityTags() throws {
        try simulator.perform(["do": "etags", "on": true])
        let tag = try client.answer(fields()).fields["etag"]
        let same = try client.answer(fields(1, ["if-none-match": tag]))
        #expect(same.status == 304)
        try simulator.perform(["do": "move", "game": 7])
        let changed = try client.answer(fields(1, ["if-none-match": tag]))
        #expect(changed.status == 200)
        #expect(changed.fields["etag"] != tag)
    }

    @Test("commands come by HTTP, too")
    func commands() throws {
        let post = fields(1, [":method": "POST", ":path": "/simulator/command"])
        let done = try client.answer(post, body: #"{"do":"move","game":7}"#)
        #expect(done.status == 200)
        #expect(done.json?["moves"] == 1)
        for wrong in ["", "x", "[]", "{}", #"{"do":"dance"}"#, #"{"do":"move","game":9}"#] {
            let refused = try client.answer(post, body: wrong)
            #expect(refused.status == 400)
            #expect(refused.json?["ok"] == false)
        }
        #expect(throws: TestFailure.self) { try simulator.perform(["do": "move", "game": "7"]) }
    }

    @Test("a clock may be set on and on")
    func endOfTime() throws {
        for _ in 1...3 { try simulator.perform(["do": "clock", "advance_ms": .integer(.max)]) }
        #expect(try client.answer(fields()).status == 200)
    }

    @Test("gzip can be unpacked")
    func gzip() throws {
        try simulator.perform(["do": "game", "black": 6, "white": 2, "moves": 9000])
        let plain = try client.answer(fields(6)).body
        try simulator.perform(["do": "gzip", "on": true])
        let packed = try client.answer(fields(6))
        #expect(packed.fields["content-encoding"] == "gzip")
        let file = simulator.folder
        try file.write(packed.body, to: "answer.gz")
        #expect(try unpacked("\(file.path)/answer.gz") == plain)
    }
}

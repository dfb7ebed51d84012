import Glibc
import JSON
import TestSupport
import Testing
import Turnstone

/// An installation of its own with a simulated OGS and APNs, all of which go by one clock that only the
/// test moves.
final class World {
    let simulator: Simulator
    let state = TemporaryFolder()
    private(set) var now: Int64 = 1_795_262_400_000
    /// API keys by player.
    private var keys: [Int64: String] = [:]
    var variables: [String: String] = [:]
    /// Variables that are not in the environment though they usually are.
    var hidden: Set<String> = []

    init(_ options: [String] = []) throws {
        simulator = try Simulator(options)
        try advance(seconds: 0)
    }

    /// Moves everybody's clock on.
    func advance(seconds: Int64) throws {
        now += seconds * 1000
        try simulator.perform(["do": "clock", "now": .integer(now)])
    }

    var environment: [String: String] {
        let base = [
            "TURNSTONE_STATE": state.path, "TURNSTONE_CONFIG": "/dev/null",
            "TURNSTONE_NOW": "\(now)", "TURNSTONE_DELIVER": "external",
            "DELIVER_LINGER_SECONDS": "0", "MASTER_API_KEY": "master",
        ]
        let all = base.merging(simulator.environment) { $1 }.merging(variables) { $1 }
        return all.filter { !hidden.contains($0.key) }
    }

    func start(_ program: String, _ event: JSONValue? = nil) throws -> RunningProgram {
        try Programs.start(
            program, input: event.map { JSON.text($0) } ?? [],
            entries: environment.map { "\($0.key)=\($0.value)" })
    }

    /// Kills `deliver` once the push services have taken so many pushes in all. A fault must keep it from
    /// reading the last answer.
    func killDrainer(afterPushes count: Int) throws {
        let drainer = try start("deliver")
        #expect(try simulator.waitForPushes(count))
        drainer.send(SIGKILL)
        _ = try drainer.end()
    }

    /// Runs a scheduled program to its end and returns its summary.
    @discardableResult
    func run(_ program: String, exitCode: Int32 = 0) throws -> JSONObject {
        let ended = try start(program).end()
        #expect(ended.exitCode == exitCode, "\(program): \(ended.stderr)")
        // A summary leaves zeros out.
        var summary: JSONObject = [:]
        let names =
            program == "deliver"
            ? ["finished", "waiting", "accepted", "refused", "gone", "quarantined"]
            : ["due", "looked", "unchanged", "notices", "failed", "put_off"]
        for name in names { summary[name] = 0 }
        for member in (try? JSON.parse(ended.output).object)?.members ?? [] {
            #expect(member.value != 0)
            summary[member.name] = member.value
        }
        return summary
    }

    /// One cycle as a timer would start it, half a minute after the last one, and its deliveries.
    @discardableResult
    func cycle() throws -> JSONObject {
        try advance(seconds: 31)
        let summary = try run("check-turns")
        try run("deliver")
        return summary
    }

    func event(_ method: String, _ path: String, by player: Int64, _ body: JSONValue? = nil)
        throws -> JSONValue
    {
        var event: JSONObject = [
            "method": .string(method), "path": .string(path),
            "headers": ["X-API-Key": .string(try key(of: player))],
        ]
        event["body"] = body
        return .object(event)
    }

    func ask(
        _ program: String, _ method: String, _ path: String, by player: Int64,
        _ body: JSONValue? = nil
    ) throws -> Answer {
        let ended = try start(program, try event(method, path, by: player, body)).end()
        #expect(ended.exitCode == 0, "\(program): \(ended.stderr)")
        return try Answer(event: ended.stdout)
    }

    private func key(of player: Int64) throws -> String {
        if let key = keys[player] { return key }
        let event: JSONValue = [
            "method": "POST", "path": "/generate-api-key",
            "body": ["user_id": .string("\(player)"), "master_key": "master"],
        ]
        let answer = try Answer(event: start("generate-api-key", event).end().stdout)
        guard let key = answer.json?.object?["api_key"]?.string else {
            throw TestFailure("no key: \(answer.body)")
        }
        keys[player] = key
        return key
    }

    func registration(_ token: String, of player: Int64) -> JSONValue {
        ["user_id": .string("\(player)"), "device_token": .string(token)]
    }

    func register(_ token: String, of player: Int64) throws {
        let answer = try ask(
            "register", "POST", "/register", by: player, registration(token, of: player))
        #expect(answer.status == 200, "\(answer.body)")
    }

    /// A game between players 1 and 2 in which it is player 2's turn.
    func beginGame(_ game: Int64 = 7, _ more: JSONObject = [:]) throws {
        var command: JSONObject = [
            "do": "game", "game": .integer(game), "name": .string("Game \(game)"), "black": 1,
            "white": 2, "moves": 20, "to_move": 2,
        ]
        for member in more.members { command[member.name] = member.value }
        try simulator.perform(command)
    }

    /// Whoever's turn it is moves.
    func move(_ game: Int64 = 7) throws {
        try simulator.perform(["do": "move", "game": .integer(game)])
    }

    /// The ids of all pushes that APNs took, in their order.
    func acceptedIDs() throws -> [String] {
        try simulator.pushes().filter { $0["accepted"] == true }.compactMap {
            $0["apns_id"]?.string
        }
    }

    /// The receipts' lines, in their order.
    func receipts() throws -> [JSONObject] {
        let files = state.files().filter { $0.key.hasPrefix("receipts/") }.sorted {
            $0.key.compare($1.key, options: .numeric) == .orderedAscending
        }
        return try files.flatMap { file in
            try file.value.split(separator: UInt8(ascii: "\n")).map { line in
                guard let members = try JSON.parse(Array(line)).object else {
                    throw TestFailure("a line of \(file.key) is no object")
                }
                return members
            }
        }
    }

    /// The files in the spool, by their paths there.
    func spooled() -> [String] {
        state.files().keys.filter { $0.hasPrefix("spool/") && $0.hasSuffix(".jsonl") }
    }

    /// Every document of the state folder that does not parse.
    func damagedDocuments() -> [String] {
        state.files().filter { name, bytes in
            name.hasSuffix(".json") && (try? JSON.parse(bytes).object) == nil
        }.map(\.key)
    }

    func document(_ player: Int64) throws -> JSONObject {
        let files = state.files().filter {
            $0.key.hasPrefix("users/") && $0.key.hasSuffix("/\(player).json")
        }
        guard let bytes = files.first?.value, let members = try JSON.parse(bytes).object else {
            throw TestFailure("player \(player) has no document")
        }
        return members
    }
}

/// Device tokens that APNs would take.
func token(_ number: Int) -> String {
    String(repeating: "0", count: 60) + String(10_000 + number).suffix(4)
}

import Foundation
import JSON
import TestSupport
import Testing
import Turnstone

/// Many first requests at once: nobody is lost, and nothing that the programs do to each other is an error.
@Suite struct AtOnceTests {
    @Test("first keys, registrations, messages, badges and channels at once lose nobody")
    func atOnce() throws {
        allowManyFiles()
        let row = Row(
            "64 to 1,000 first keys, registrations, badges, messages and channels at once")
        for count in Length.isLong ? [64, 200, 1000] : [64] {
            let full = try Crowd()
            for round in 0..<Length.times(50, few: 1) {
                // A folder in which nothing is, and one in which the crowds before it are.
                for (crowd, place) in [(try Crowd(), "fresh"), (full, "full")] {
                    let verdict = try crowd.come(count)
                    row.count(verdict, "\(count) on a \(place) folder, round \(round)")
                }
            }
        }
        try row.report()
    }

    /// Each program of a crowd has three streams to us.
    private func allowManyFiles() {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        limit.rlim_cur = min(limit.rlim_max, 16_384)
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}

/// Many players whose requests reach one state folder at the same moment.
private final class Crowd {
    private let simulator: Simulator
    private let state = TemporaryFolder()
    private var known = 0
    private var now: Int64 = 1_795_262_400_000
    private var complaints: [String] = []

    init() throws {
        simulator = try Simulator()
        try simulator.perform(["do": "settings", "streams": 1000])
    }

    private var environment: [String: String] {
        [
            "TURNSTONE_STATE": state.path, "TURNSTONE_CONFIG": "/dev/null",
            "TURNSTONE_NOW": "\(now)", "TURNSTONE_DELIVER": "external",
            "DELIVER_LINGER_SECONDS": "0", "MASTER_API_KEY": "master",
            "TURNSTONE_SERVER_KEY": Trial.serverKey, "OGS_REQUESTS_PER_SECOND": "1000000",
            // Those of the rounds before are not looked at again: that would take longer than all else.
            "CHECK_INTERVAL_SECONDS": "86400",
        ].merging(simulator.environment) { own, _ in own }
    }

    /// Lets so many new players do everything for the first time, each thing all at once, and a cycle tell
    /// them of their games.
    func come(_ count: Int) throws -> Verdict {
        let players = (known + 1)...(known + count)
        known += count
        complaints = []
        try simulator.perform(["do": "reset"])
        try advance()
        for player in players {
            try simulator.perform([
                "do": "game", "game": .integer(Int64(100_000 + player)),
                "black": .integer(Int64(player)), "white": .integer(Int64(1_000_000 + player)),
                "moves": 20, "to_move": .integer(Int64(player)),
            ])
        }
        let made = try atOnce(players, "generate-api-key") { player in
            [
                "method": "POST", "path": "/generate-api-key",
                "body": ["user_id": .string("\(player)"), "master_key": "master"],
            ]
        }
        let keys = made.mapValues { $0.json?.object?["api_key"]?.string ?? "" }
        try atOnce(players, "register") { player in
            [
                "method": "POST", "path": "/register",
                "headers": ["X-API-Key": .string(keys[player] ?? "")],
                "body": [
                    "user_id": .string("\(player)"), "device_token": .string(token(player)),
                ],
            ]
        }
        try atOnce(players, "badge") { player in
            [
                "method": "PUT", "path": "/api/badge", "headers": server,
                "body": ["userId": .string("\(player)"), "badge": 1],
            ]
        }
        try atOnce(players, "channels") { _ in
            [
                "method": "POST", "path": "/api/push/channels", "headers": server,
                "body": ["messageStoragePolicy": "none"],
            ]
        }
        try atOnce(players, "notify") { player in
            [
                "method": "POST", "path": "/api/notify", "headers": server,
                "body": [
                    "users": [.string("\(player)")], "title": "One",
                    "idempotency_key": .string("one of \(player)"),
                ],
            ]
        }
        for program in ["check-turns", "deliver", "check-turns", "deliver"] {
            try advance()
            let ended = try Programs.run(program, environment: environment, timeLimit: 300)
            if ended.exitCode != 0 { complaints.append("\(program): \(ended.stderr)") }
        }
        return try verdict(players)
    }

    private var server: JSONValue { ["Authorization": .string("Key \(Trial.serverKey)")] }

    private func advance() throws {
        now += 2000
        try simulator.perform(["do": "clock", "now": .integer(now)])
    }

    /// Starts a program for each of the players, and only then waits for the first. Players who get 503
    /// because a lock is busy try again.
    @discardableResult
    private func atOnce(
        _ players: ClosedRange<Int>, _ program: String, _ event: (Int) -> JSONValue
    ) throws -> [Int: Answer] {
        var answers: [Int: Answer] = [:]
        var waiting = Array(players)
        let entries = environment.map { "\($0.key)=\($0.value)" }
        for _ in 0..<30 where !waiting.isEmpty {
            let running = try waiting.map { player in
                let input = JSON.text(event(player))
                return (player, try Programs.start(program, input: input, entries: entries))
            }
            waiting = []
            for (player, program) in running {
                let ended = try program.end(timeLimit: 300)
                let answer = try Answer(event: ended.stdout)
                if answer.status == 503, answer.headers["retry-after"] != nil {
                    waiting.append(player)
                    continue
                }
                answers[player] = answer
                if !(200...202).contains(answer.status) {
                    complaints.append("\(player) got \(answer.status): \(ended.stderr)")
                }
            }
        }
        if !waiting.isEmpty { complaints.append("\(program) stays busy for \(waiting.count)") }
        return answers
    }

    /// Each player's device gets the badge, the message and the notice.
    private func verdict(_ players: ClosedRange<Int>) throws -> Verdict {
        let taken = try simulator.pushes().filter { $0["accepted"] == true }
        let byDevice = Dictionary(grouping: taken) { $0["token"]?.string ?? "" }
        var lost: [String] = []
        let titles = ["", "One", "Your turn in Go!"]
        for player in players {
            let pushes = byDevice[token(player)] ?? []
            let came = pushes.map { push in
                let alert = push["payload"]?.object?["aps"]?.object?["alert"]
                return alert?.object?["title"]?.string ?? ""
            }.sorted()
            if came != titles { lost.append("\(player) got \(came)") }
        }
        let damaged = state.files().keys.filter { $0.contains(".corrupt-") }
        return Verdict(expected: players.count * 3, lost: lost, wrong: complaints + damaged)
    }
}

private func token(_ player: Int) -> String {
    let digits = String(player, radix: 16)
    return String(repeating: "0", count: 8 - digits.count) + digits
        + String(repeating: "b", count: 56)
}

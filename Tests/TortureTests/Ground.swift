import Documents
import Foundation
import JSON
import Store
import TestSupport
import Turnstone

/// OGS, APNs, and a state folder as it is before the fault: each trial begins with a copy of it.
///
/// It is each player's turn in one game, or messages wait for each player: each of the devices is to get one
/// push.
final class Ground {
    /// How far the notifications have come.
    enum Point {
        /// The devices are registered.
        case registered
        /// The notices are in the spool, too.
        case queued
        /// Messages to each player are held, two of them, until quiet hours end in the next minute.
        case held
    }

    let simulator: Simulator
    let tokens: Set<String>
    private let before = TemporaryFolder()
    /// A device of player 1 that is not registered yet, where one was asked for.
    let newcomer: String?
    /// Player 1's.
    private(set) var apiKey = ""
    private let players: Int
    private let point: Point
    private let begin: Int64 = 1_795_262_400_000

    /// - Parameter options: the simulator's.
    init(
        players: Int, devices: Int, _ point: Point, hasNewcomer: Bool = false,
        _ options: [String] = []
    ) throws {
        simulator = try Simulator(options)
        self.players = players
        self.point = point
        let tokens = (0..<players * devices).map(token)
        newcomer = hasNewcomer ? token(players * devices) : nil
        self.tokens = Set(tokens + [newcomer].compactMap { $0 })
        let first = trial(in: before)
        var variables = Variables()
        variables.offer("TURNSTONE_STATE", before.path)
        let state = try State(variables)
        for player in 1...players {
            let devices = tokens[(player - 1) * devices..<player * devices]
            try register(Array(devices), of: Int64(player), state)
        }
        if hasNewcomer { apiKey = try first.makeKey(of: "1") }
        if point == .registered { return }
        try setUp()
        try first.advance(seconds: 1)
        switch point {
        case .registered: break
        case .queued: try first.run("check-turns")
        case .held: try hold(first, state)
        }
    }

    private func hold(_ trial: Trial, _ state: State) throws {
        for player in 1...players {
            guard let id = UserID(String(player)) else { continue }
            try state.users[id].update { user in
                user.preferences.mutedUntil = Timestamp(milliseconds: begin + 2000)
            }
        }
        for title in ["One", "Two"] {
            let event: JSONValue = [
                "method": "POST", "path": "/api/notify",
                "headers": ["Authorization": .string("Key \(Trial.serverKey)")],
                "body": [
                    "users": JSONValue(texts: (1...players).map(String.init)),
                    "title": .string(title),
                ],
            ]
            guard try Answer(event: trial.run("notify", event).stdout).status == 202 else {
                throw TestFailure("the message was not accepted")
            }
        }
        try trial.run("deliver")
    }

    /// The rest of a player's devices joins the first one in the user's document, which is the truth: a
    /// commit for each of hundreds would take its time.
    private func register(_ tokens: [String], of player: Int64, _ state: State) throws {
        let devices = tokens.compactMap { DeviceToken($0) }
        let time = Timestamp(milliseconds: begin)
        guard let id = PlayerID(String(player)), let first = devices.first else { return }
        try state.registry.bind(first, environment: nil, to: id, at: time)
        try state.users[UserID(id)].update { user in
            user.devices += devices.dropFirst().map { Device($0, registered: time) }
        }
    }

    /// Brings OGS and APNs to where they were, with nothing sent, and gives the state folder's copy.
    func trial() throws -> Trial {
        try setUp()
        let state = TemporaryFolder()
        for name in try FileManager.default.contentsOfDirectory(atPath: before.path) {
            try FileManager.default.copyItem(
                atPath: "\(before.path)/\(name)", toPath: "\(state.path)/\(name)")
        }
        let trial = trial(in: state)
        try trial.advance(seconds: 2)
        return trial
    }

    private func trial(in folder: TemporaryFolder) -> Trial {
        Trial(ground: self, state: folder, now: begin)
    }

    private func setUp() throws {
        try simulator.perform(["do": "reset"])
        try simulator.perform(["do": "settings", "streams": 1000])
        try simulator.perform(["do": "clock", "now": .integer(begin)])
        for player in 1...players where point != .held {
            try simulator.perform([
                "do": "game", "game": .integer(Int64(1000 + player)),
                "black": .integer(Int64(player)), "white": .integer(Int64(5000 + player)),
                "moves": 20, "to_move": .integer(Int64(player)),
            ])
        }
    }
}

/// Device tokens that APNs would accept, and whose ids in receipts differ.
private func token(_ number: Int) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: 8 - digits.count) + digits
        + String(repeating: "a", count: 56)
}

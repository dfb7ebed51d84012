import Documents
import Foundation
import JSON
import Store
import TestSupport
import Turnstone

/// OGS, APNs, and a state folder as it is before the fault: each trial begins with a copy of it.
///
/// It is each player's turn in one game, or messages wait for each player: each of the devices is to get one
/// push. A player may have an Android phone and a browser beside iPhones.
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
    private(set) var targets: Set<Target> = []
    private let before = TemporaryFolder()
    /// A device of player 1 that is not registered yet, where one was asked for.
    let newcomer: String?
    /// Player 1's.
    private(set) var apiKey = ""
    let players: Int
    private let hasGames: Bool
    private let point: Point
    private let begin: Int64 = 1_795_262_400_000

    /// - Parameters:
    ///   - devices: how many iPhones each player has.
    ///   - others: the push services of each player's other devices, one of each.
    ///   - hasGames: whether it is each player's turn.
    ///   - options: the simulator's.
    init(
        players: Int, devices: Int, and others: [PushService] = [], _ point: Point,
        hasNewcomer: Bool = false, hasGames: Bool = true, _ options: [String] = []
    ) throws {
        simulator = try Simulator(
            options + (others.isEmpty ? [] : ["--services", "apns,fcm,web"]))
        self.players = players
        self.point = point
        self.hasGames = hasGames && point != .held
        let tokens = (0..<players * devices).map(token)
        newcomer = hasNewcomer ? token(players * devices) : nil
        targets = Set((tokens + [newcomer].compactMap { $0 }).map { Target(iPhone: $0) })
        let first = trial(in: before)
        var variables = Variables()
        variables.offer("TURNSTONE_STATE", before.path)
        let state = try State(variables)
        for player in 1...players {
            let iPhones = tokens[(player - 1) * devices..<player * devices]
            let devices =
                iPhones.compactMap { DeviceToken($0) }.map { Device($0, registered: time) }
                + (try others.map { try other($0, of: player) })
            try register(devices, of: Int64(player), state)
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
            let event = trial.message(title)
            guard try Answer(event: trial.run("notify", event).stdout).status == 202 else {
                throw TestFailure("the message was not accepted")
            }
        }
        try trial.run("deliver")
    }

    private var time: Timestamp { Timestamp(milliseconds: begin) }

    /// A player's device of another push service than Apple's.
    private func other(_ service: PushService, of player: Int) throws -> Device {
        let (text, name): (String, String)
        switch service {
        case .apns: throw TestFailure("iPhones are counted")
        case .fcm:
            text = "fcm-registration-token-of-player:\(player)"
            name = text
        case .web:
            let browser = try simulator.perform(["do": "web-subscription"])
            text = try DeviceToken(PushSubscription(browser["subscription"] ?? .null)).text
            name = browser["id"]?.string ?? ""
        }
        guard let token = DeviceToken(text, of: service) else { throw TestFailure(text) }
        var device = Device(token, registered: time)
        device.platform = service == .fcm ? .android : .web
        targets.insert(
            Target(service: service, name: name, receiptName: "\(service.rawValue)/\(player)"))
        return device
    }

    /// The rest of a player's devices joins the first one in the user's document, which is the truth: a
    /// commit for each of hundreds would take its time.
    private func register(_ devices: [Device], of player: Int64, _ state: State) throws {
        guard let id = PlayerID(String(player)), let first = devices.first else { return }
        var registration = Registration(first.token)
        registration.platform = first.platform
        _ = try state.registry.bind(registration, to: id, at: time)
        try state.users[UserID(id)].update { user in user.devices += devices.dropFirst() }
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
        for player in 1...players where hasGames {
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

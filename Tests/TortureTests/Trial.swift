import JSON
import TestSupport
import Turnstone

/// One time that a fault is tried, in a state folder of its own.
final class Trial {
    let ground: Ground
    let state: TemporaryFolder
    private(set) var now: Int64
    var variables: [String: String] = [:]
    /// Programs that ran without a fault and failed all the same.
    private(set) var complaints: [String] = []
    /// The devices that are to get nothing, with the outcomes of their pushes.
    var refused: [Target: String] = [:]
    static let serverKey = "a-server-key-of-thirty-two-letters"

    init(ground: Ground, state: TemporaryFolder, now: Int64) {
        self.ground = ground
        self.state = state
        self.now = now
    }

    /// Moves everybody's clock.
    func advance(seconds: Int64) throws {
        now += seconds * 1000
        try ground.simulator.perform(["do": "clock", "now": .integer(now)])
    }

    var environment: [String: String] {
        let base = [
            "TURNSTONE_STATE": state.path, "TURNSTONE_CONFIG": "/dev/null",
            "TURNSTONE_NOW": "\(now)", "TURNSTONE_DELIVER": "external",
            "DELIVER_LINGER_SECONDS": "0", "MASTER_API_KEY": "master",
            "TURNSTONE_SERVER_KEY": Self.serverKey,
        ]
        return base.merging(ground.simulator.environment) { $1 }.merging(variables) { $1 }
    }

    /// - Parameter fault: the fault that strace injects.
    func start(
        _ program: String, _ event: JSONValue? = nil, fault: Fault? = nil
    ) throws -> RunningProgram {
        let entries = environment.map { "\($0.key)=\($0.value)" }
        let input = event.map { JSON.text($0) } ?? []
        guard let fault else { return try Programs.start(program, input: input, entries: entries) }
        return try Programs.start(
            at: Fault.tracer, fault.arguments + [Programs.path(program)], input: input,
            entries: entries)
    }

    /// Runs a program that nothing hinders.
    @discardableResult
    func run(_ program: String, _ event: JSONValue? = nil) throws -> EndedProgram {
        let ended = try start(program, event).end()
        if ended.exitCode != 0 {
            complaints.append("\(program) ends with \(ended.exitCode): \(ended.stderr)")
        }
        return ended
    }

    /// An API key of a player's.
    func makeKey(of player: String) throws -> String {
        let event: JSONValue = [
            "method": "POST", "path": "/generate-api-key",
            "body": ["user_id": .string(player), "master_key": "master"],
        ]
        let answer = try Answer(event: run("generate-api-key", event).stdout)
        guard let key = answer.json?.object?["api_key"]?.string else {
            throw TestFailure("no key: \(answer.body)")
        }
        return key
    }

    /// The request that registers the ground's newcomer.
    var registration: JSONValue {
        [
            "method": "POST", "path": "/register",
            "headers": ["X-API-Key": .string(ground.apiKey)],
            "body": ["user_id": "1", "device_token": .string(ground.newcomer ?? "")],
        ]
    }

    /// A request to send a message to all players.
    func message(_ title: String, idempotencyKey: String? = nil) -> JSONValue {
        var body: JSONObject = [
            "users": JSONValue(texts: (1...ground.players).map(String.init)),
            "title": .string(title),
        ]
        body["idempotency_key"] = idempotencyKey.map { .string($0) }
        return [
            "method": "POST", "path": "/api/notify",
            "headers": ["Authorization": .string("Key \(Self.serverKey)")], "body": .object(body),
        ]
    }

    /// Runs both programs as a timer starts them until nothing waits, and then once more.
    func finish(keepingFaults keepsFaults: Bool = false) throws {
        if !keepsFaults { ground.simulator.clear() }
        for _ in 0..<40 {
            try advance(seconds: 601)
            try run("check-turns")
            try run("deliver")
            if spooled().isEmpty, Receipts(state).settled.count >= ground.targets.count { break }
        }
        try advance(seconds: 601)
        try run("check-turns")
        try run("deliver")
    }

    /// Finishes and judges. Pushes that had their outcome before must not be sent again.
    ///
    /// - Parameter keepsFaults: whether the push services go on as they are.
    func verdict(keepingFaults keepsFaults: Bool = false) throws -> Verdict {
        let settled = Receipts(state).settledDevices
        let before = try ground.simulator.taken()
        try finish(keepingFaults: keepsFaults)
        let after = try ground.simulator.taken()
        for target in ground.targets where settled.contains(target.receiptName) {
            if after[target.name]?.count != before[target.name]?.count {
                complaints.append("sent again: \(target.name)")
            }
        }
        return try Verdict(of: self)
    }

    // MARK: The state folder

    /// Every document that does not parse or was set aside.
    func damagedDocuments() -> [String] {
        state.files().filter { name, bytes in
            name.contains(".corrupt-")
                || (name.hasSuffix(".json") && (try? JSON.parse(bytes).object) == nil)
        }.map { "damaged: \($0.key)" }
    }

    /// Whether a user's document has a device.
    func isRegistered(_ target: Target) -> Bool {
        // An FCM token may be the beginning of another one. A browser's is followed by its keys.
        let ends = [target.name + "\"", target.name + "#"]
        return state.files().contains { name, bytes in
            let text = String(decoding: bytes, as: UTF8.self)
            return name.hasPrefix("users/") && ends.contains { text.contains($0) }
        }
    }

    /// Whether something waits in the spool, and all of it long enough.
    func isDue() -> Bool {
        let moments = spooled().compactMap { $0.split(separator: "/").dropLast().last }
        return !moments.isEmpty
            && moments.allSatisfy { (Int64($0.prefix { $0 != "-" }) ?? .max) <= now }
    }

    /// The notifications in the spool that are not finished.
    func spooled() -> [String] {
        state.files().keys.filter {
            $0.hasPrefix("spool/") && $0.split(separator: "/").count > 3 && !$0.hasSuffix(".new")
        }
    }
}

extension Simulator {
    /// The pushes that were taken, by ``Target/name``.
    func taken() throws -> [String: [JSONObject]] {
        let report = try perform(["do": "report"])
        let pushes = ["apns", "fcm", "web"].flatMap {
            report[$0]?.object?["pushes"]?.array?.compactMap(\.object) ?? []
        }
        return Dictionary(grouping: pushes.filter { $0["accepted"] == true }) {
            ($0["token"] ?? $0["subscription"])?.string ?? ""
        }
    }

    /// Ends all trouble, and takes up to a thousand streams again.
    func clear() {
        _ = try? perform(["do": "clear"])
        _ = try? perform(["do": "settings", "streams": 1000])
    }
}

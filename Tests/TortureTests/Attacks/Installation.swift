import Crypto
import Foundation
import JSON
import TestSupport
import Testing
import Turnstone
import Unix

/// An installation with OGS and APNs, and player 1 with one device, an uninvolved user.
final class Installation {
    let trial: Trial
    let door: Door
    private let site: Site?
    /// Further gateways that go by the same clock.
    private var others: [Simulator] = []
    /// The programs' log lines, by program; through nginx, fcgiwrap's log.
    private var said: [(program: String, text: String)] = []
    /// Programs that ended by a signal or with an unexpected exit code.
    private(set) var crashes: [String] = []
    private static let jwtSecret = "a-secret-of-at-least-thirty-two-bytes"
    private static let routes = (try? Route.all()) ?? []

    /// - Parameters:
    ///   - door: how requests arrive.
    ///   - workers: how many programs fcgiwrap runs at a time, as `turnstone-fcgi@.service` has it.
    ///   - options: the simulator's.
    init(
        _ door: Door = .events, _ variables: [String: String] = [:], workers: Int = 4,
        simulator options: [String] = []
    ) throws {
        self.door = door
        trial = try Ground(players: 1, devices: 1, .registered, options).trial()
        trial.variables = variables
        trial.variables["JWT_SECRET"] = Self.jwtSecret
        // One caller makes all keys here, where nginx allows ten a minute.
        site =
            door == .nginx
            ? try Site(.nginx, replacing: ["rate=10r/m": "rate=60000r/m"], workers: workers) : nil
        try configure()
    }

    var simulator: Simulator { trial.ground.simulator }
    var state: TemporaryFolder { trial.state }

    /// Gives the other environment of APNs a gateway of its own; the installation's own is production.
    func beginDevelopment() throws -> Simulator {
        let development = try Simulator(like: simulator)
        others.append(development)
        trial.variables["APNS_ENVIRONMENT"] = "production"
        trial.variables["APNS_DEVELOPMENT_BASE_URL"] = development.addresses["apns"]?.string
        try advance(seconds: 0)
        return development
    }

    /// Moves everybody's clock.
    func advance(seconds: Int64) throws {
        try trial.advance(seconds: seconds)
        for other in others { try other.perform(["do": "clock", "now": .integer(trial.now)]) }
        try configure()
    }

    /// Lets everybody go by the system's clock.
    func useSystemClock() throws {
        trial.variables["TURNSTONE_NOW"] = ""
        try simulator.perform(["do": "clock"])
        try configure()
    }

    private func configure() throws {
        guard let site else { return }
        site.state = state
        let own = ["TURNSTONE_STATE", "TURNSTONE_CONFIG"]
        let lines = trial.environment.filter { !own.contains($0.key) }.map { "\($0)='\($1)'" }
        try site.configure(lines.sorted().joined(separator: "\n"))
    }

    // MARK: Requests

    /// The caller of a request.
    enum Caller {
        /// A user, by a JSON Web Token.
        case user(String)
        /// A player, by an API key.
        case key(String)
        /// Whoever has a JSON Web Token with these claims.
        case claims(JSONObject)
        /// The app's own backend.
        case backend
        case anyone
    }

    struct Reply {
        let status: Int
        let json: JSONValue?
        let headers: [String: String]

        /// Whether a program ended without an answer.
        var isCrash: Bool {
            status == 502 || (status == 503 && json?.object?["error"] == "temporarily unavailable")
        }
    }

    /// Makes a request, and waits for its answer.
    func ask(
        _ method: String, _ path: String, by caller: Caller, _ body: JSONValue? = nil,
        headers more: [(String, String)] = []
    ) throws -> Reply {
        guard
            let program = Self.routes.first(where: { $0.method == method && $0.serves(path) })?
                .program
        else { throw TestFailure("no route: \(method) \(path)") }
        let headers = header(of: caller) + more
        return site == nil
            ? try answer(program, method, path, headers, body)
            : try HostAnswer(send(method, path, by: caller, body, headers: more).receive()).reply
    }

    /// Sends a request to nginx.
    ///
    /// - Returns: the connection on which the answer will come.
    func send(
        _ method: String, _ path: String, by caller: Caller, _ body: JSONValue? = nil,
        headers more: [(String, String)] = []
    ) throws -> Connection {
        guard let site else { throw TestFailure("there is no nginx") }
        var request = HostRequest(
            method: method, target: path, headers: header(of: caller) + more,
            body: body.map { JSON.text($0) } ?? [])
        if body != nil { request.headers.append(("Content-Type", "application/json")) }
        // nginx hands all programs the same port.
        let connection = try site.connect(to: "health")
        connection.send(request.bytes)
        return connection
    }

    private func answer(
        _ program: String, _ method: String, _ path: String, _ headers: [(String, String)],
        _ body: JSONValue?
    ) throws -> Reply {
        var fields = JSONObject()
        for (name, value) in headers { fields[name] = .string(value) }
        var event: JSONObject = [
            "method": .string(method), "path": .string(path), "headers": .object(fields),
        ]
        event["body"] = body
        let ended = try trial.start(program, .object(event)).end()
        said.append((program, ended.stderr))
        guard ended.exitCode == 0 else {
            crashes.append("\(program) \(ended.exitCode): \(method) \(path) \(ended.stderr)")
            return Reply(status: 502, json: nil, headers: [:])
        }
        let answer = try Answer(event: ended.stdout)
        return Reply(status: answer.status, json: answer.json, headers: answer.headers)
    }

    private func header(of caller: Caller) -> [(String, String)] {
        switch caller {
        case .user(let name):
            header(of: .claims(["sub": .string(name), "exp": 4_102_444_800]))
        case .claims(let claims): [("Authorization", "Bearer \(Self.token(claims))")]
        case .key(let key): [("X-API-Key", key)]
        case .backend: [("Authorization", "Key \(Trial.serverKey)")]
        case .anyone: []
        }
    }

    private static func token(_ claims: JSONObject) -> String {
        let signed =
            base64URL(JSON.text(["alg": "HS256"])) + "." + base64URL(JSON.text(.object(claims)))
        return signed + "."
            + base64URL(hmacSHA256(Array(signed.utf8), key: Array(jwtSecret.utf8)))
    }

    // MARK: Users' actions

    /// Registers a user's device at `/api/push/register`.
    @discardableResult
    func register(
        _ token: String, of user: String, _ more: JSONObject = [:]
    ) throws -> Reply {
        var body: JSONObject = [
            "token": .string(token), "tokenType": "device", "platform": "ios",
        ]
        for member in more.members { body[member.name] = member.value }
        return try ask("POST", "/api/push/register", by: .user(user), .object(body))
    }

    /// Registers a device of each of the users; each is to succeed.
    func registerAll(_ users: [String], tokens: [String]) throws {
        for (user, token) in zip(users, tokens) {
            #expect(try register(token, of: user).status == 200)
        }
    }

    /// Registers a Live Activity's token.
    @discardableResult
    func registerActivity(
        _ token: String, _ activity: String, session: String? = nil, of user: String
    ) throws -> Reply {
        var more: JSONObject = ["tokenType": "live_activity", "activityId": .string(activity)]
        more["sessionId"] = session.map { .string($0) }
        return try register(token, of: user, more)
    }

    /// A message of the app's backend to users.
    @discardableResult
    func notify(_ users: [String], _ more: JSONObject = [:]) throws -> Reply {
        var body: JSONObject = ["users": JSONValue(texts: users), "title": "Hello"]
        for member in more.members { body[member.name] = member.value }
        return try ask("POST", "/api/notify", by: .backend, .object(body))
    }

    /// An API key of a player's.
    func makeKey(of player: String) throws -> Reply {
        try ask(
            "POST", "/generate-api-key", by: .anyone,
            ["user_id": .string(player), "master_key": "master"])
    }

    // MARK: Results

    /// Runs a program that a timer starts.
    @discardableResult
    func run(_ program: String) throws -> EndedProgram {
        let ended = try trial.start(program).end()
        said.append((program, ended.stderr))
        if ![0, 100, 111].contains(ended.exitCode) {
            crashes.append("\(program) \(ended.exitCode): \(ended.stderr)")
        }
        return ended
    }

    /// Starts a program whose log goes nowhere: it would wait for a reader of thousands of lines.
    ///
    /// - Parameter seconds: how long a drainer without work waits for some.
    func startUnread(_ program: String, lingering seconds: Int) throws -> RunningProgram {
        let script =
            "DELIVER_LINGER_SECONDS=\(seconds) exec '\(Programs.path(program))' 2>/dev/null"
        return try Programs.start(
            at: "/bin/sh", ["-c", script],
            entries: trial.environment.map { "\($0.key)=\($0.value)" })
    }

    /// The pushes that were accepted, in their order.
    func accepted() throws -> [JSONObject] {
        try simulator.pushes().filter { $0["accepted"] == true }
    }

    /// How many pushes were accepted for any of the tokens.
    func accepted(_ tokens: some Collection<String>) throws -> Int {
        let tokens = Set(tokens)
        return try accepted().count { tokens.contains($0["token"]?.string ?? "") }
    }

    /// The receipts with an outcome, in their order.
    func receipts(of outcome: String = "accepted") throws -> [JSONObject] {
        let files = state.files().filter { $0.key.hasPrefix("receipts/") }
        return try files.sorted { $0.key.compare($1.key, options: .numeric) == .orderedAscending }
            .flatMap { file in
                try file.value.split(separator: UInt8(ascii: "\n")).compactMap {
                    try JSON.parse(Array($0)).object
                }
            }.filter { $0["outcome"]?.string == outcome }
    }

    /// The lines that programs have logged, each with the programs that may have written it.
    func logLines() -> [(programs: [String], line: String)] {
        let own = said.flatMap { program, text in
            lines(text).map { (programs: [program], line: $0) }
        }
        let logged = lines(site?.logs ?? "").filter { !$0.isEmpty }
        return own + logged.map { (programs: [], line: $0) }
    }

    /// Lines as a terminal or a log's reader takes them.
    private func lines(_ text: String) -> [String] {
        text.split(separator: "\n").map(String.init)
    }

    /// The path of a user's document within the state folder.
    func document(of user: String) throws -> String {
        let name = state.files().keys.first {
            $0.hasPrefix("users/") && $0.hasSuffix("/\(user).json")
        }
        guard let name else { throw TestFailure("\(user) has no document") }
        return name
    }

    func members(of document: String) throws -> JSONObject {
        guard let bytes = state.read(document), let members = try JSON.parse(bytes).object else {
            throw TestFailure("\(document) is no object")
        }
        return members
    }
}

extension HostAnswer {
    fileprivate var reply: Installation.Reply {
        Installation.Reply(status: status, json: json, headers: headers)
    }
}

/// Device tokens that APNs would take. Player 1's have another end.
///
/// - Parameter kind: a hex digit for whose they are.
func tokens(_ numbers: ClosedRange<Int>, _ kind: Character = "c") -> [String] {
    numbers.map { number in
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 8 - digits.count) + digits
            + String(repeating: kind, count: 56)
    }
}

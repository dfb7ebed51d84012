import Documents
import JSON
import Store
import TestSupport
import Turnstone

/// The requests of an app's own backend to an installation.
extension World {
    /// The problems that `health` reports to an operator.
    func problems() throws -> [String] {
        let answer = try Answer(
            event: startBackend("health", message("GET", "/health")).end().stdout)
        return answer.json?.object?["problems"]?.array?.compactMap {
            $0.object?["problem"]?.string
        } ?? []
    }

    /// What `health` says of each problem, and what to do.
    func problemMessages() throws -> [String] {
        let answer = try Answer(
            event: startBackend("health", message("GET", "/health")).end().stdout)
        return answer.json?.object?["problems"]?.array?.compactMap {
            ($0.object?["message"]?.string ?? "") + " " + ($0.object?["action"]?.string ?? "")
        } ?? []
    }

    static let serverKey = "the key that the backend sends us"

    func message(_ method: String, _ path: String, _ body: JSONObject? = nil, key: String? = nil)
        -> JSONValue
    {
        var headers: JSONObject = ["Authorization": .string("Key \(Self.serverKey)")]
        headers["Idempotency-Key"] = key.map { .string($0) }
        var event: JSONObject = [
            "method": .string(method), "path": .string(path), "headers": .object(headers),
        ]
        event["body"] = body.map { .object($0) }
        return .object(event)
    }

    func startBackend(_ program: String, _ event: JSONValue) throws -> RunningProgram {
        variables["TURNSTONE_SERVER_KEY"] = Self.serverKey
        return try start(program, event)
    }

    func notify(_ body: JSONObject, key: String? = nil) throws -> Answer {
        try Answer(
            event: startBackend("notify", message("POST", "/api/notify", body, key: key)).end()
                .stdout)
    }

    /// Sends a message and gives its id.
    func sent(_ body: JSONObject) throws -> String {
        let answer = try notify(body)
        guard answer.status == 202, let id = answer.json?.object?["id"]?.string else {
            throw TestFailure("not accepted: \(answer.body)")
        }
        return id
    }

    func post(event name: String, _ values: JSONObject, to user: String) throws -> Answer {
        let body: JSONObject = [
            "event": .string(name), "values": .object(values), "users": [.string(user)],
        ]
        return try Answer(
            event: startBackend("events", message("POST", "/api/events", body)).end().stdout)
    }

    func report(_ id: String) throws -> JSONObject {
        let answer = try Answer(
            event: startBackend("notify", message("GET", "/api/notify/\(id)")).end().stdout)
        guard answer.status == 200, let report = answer.json?.object else {
            throw TestFailure("no report: \(answer.body)")
        }
        return report
    }

    func callOff(_ id: String) throws -> Answer {
        try Answer(
            event: startBackend("notify", message("DELETE", "/api/notify/\(id)")).end().stdout)
    }

    /// Gives a user devices with the tokens of these numbers.
    func give(_ user: String, devices: some Sequence<Int>) throws {
        var settings = Variables()
        settings.offer("TURNSTONE_STATE", state.path)
        guard let id = UserID(user) else { throw TestFailure("\(user) is no user's id") }
        let registered = Timestamp(milliseconds: now - 60_000)
        try State(settings).users[id].update { document in
            for number in devices {
                guard let token = DeviceToken(token(number)) else { continue }
                document.devices.append(Device(token, registered: registered))
            }
        }
    }
}

import JSON
import TestSupport
import Testing
import Turnstone

/// Users of an app whose backend signs tokens, and their phones.
extension World {
    /// One with a backend's key and the secret of its tokens.
    static func withBackend() throws -> World {
        let world = try World()
        world.variables["JWT_SECRET"] = jwtSecret
        world.variables["TURNSTONE_SERVER_KEY"] = serverKey
        return world
    }

    /// Registers a phone for a user alone.
    func registerPhone(_ number: Int, of user: String) throws {
        let event = registering(token(number), of: user)
        let answer = try Answer(event: start("push-register", event).end().stdout)
        #expect(answer.status == 200, "\(answer)")
    }

    /// The request by which an app registers a token for its user alone.
    func registering(_ token: String, of user: String) -> JSONValue {
        let body: JSONObject = ["token": .string(token), "tokenType": "device"]
        return [
            "method": "POST", "path": "/api/push/register",
            "headers": ["Authorization": .string(bearer(user))], "body": .object(body),
        ]
    }

    /// - Returns: the answer's status.
    @discardableResult
    func unregisterPhone(_ number: Int, of user: String) throws -> Int {
        let event: JSONValue = [
            "method": "DELETE", "path": .string("/api/devices/\(token(number))"),
            "headers": ["Authorization": .string(bearer(user))],
        ]
        return try Answer(event: start("devices-unregister", event).end().stdout).status
    }

    func erase(_ user: String) throws {
        let event = message("DELETE", "/api/users/\(user)")
        let answer = try Answer(event: startBackend("users", event).end().stdout)
        #expect(answer.status == 200, "\(answer)")
    }

    /// The numbers of the phones that a message to these users reaches, each as often as it is reached.
    func reached(_ users: [String]) throws -> [Int] {
        let before = try simulator.pushes().count
        let body: JSONObject = ["users": .array(users.map { .string($0) }), "body": "Hello"]
        let answer = try notify(body)
        #expect(answer.status == 202 || answer.json?.object?["devices"] == 0, "\(answer)")
        try run("deliver")
        return try simulator.pushes().dropFirst(before).map { push in
            let text = try #require(push["token"]?.string)
            return try #require((1...9).first { token($0) == text })
        }.sorted()
    }
}

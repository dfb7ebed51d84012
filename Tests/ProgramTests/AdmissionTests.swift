import Crypto
import JSON
import TestSupport
import Testing
import Turnstone

/// A caller may make so many requests; nobody else is refused for it.
@Suite struct AdmissionTests {
    private static func token(of user: String) -> String {
        let claims: JSONValue = ["sub": .string(user), "exp": 4_102_444_800]
        let signed =
            base64URL(JSON.text(["alg": "HS256"])) + "." + base64URL(JSON.text(claims))
        let key = Array(Endpoint.jwtSecret.utf8)
        return signed + "." + base64URL(hmacSHA256(Array(signed.utf8), key: key))
    }

    private func ask(_ installation: Installation, user: String) throws -> Answer {
        let token = Self.token(of: user)
        let ended = try Programs.run(
            "devices-list",
            stdin:
                #"{"method":"GET","path":"/api/devices","headers":{"Authorization":"Bearer \#(token)"}}"#,
            environment: installation.environment)
        return try Answer(event: ended.stdout)
    }

    @Test("a minute's worth may come at once, and further requests are refused with a pause")
    func refused() throws {
        let installation = try Endpoint.installation(
            environment: ["CALLER_REQUESTS_PER_MINUTE": "3"])
        for _ in 0..<3 { #expect(try ask(installation, user: "ann").status == 200) }
        let refused = try ask(installation, user: "ann")
        #expect(refused.status == 429)
        let pause = try #require(refused.headers["retry-after"].flatMap(Int.init))
        #expect((1...20).contains(pause))
        #expect(try ask(installation, user: "bob").status == 200)
        // Entries that cannot be counted, or that no clock can have written, refuse nobody.
        for byte in ["9", "x", "-"] {
            let text = String(repeating: byte, count: 20 << 12)
            try installation.state.write(text, to: "requests.limit")
            #expect(try ask(installation, user: "ann").status == 200)
        }
    }

    @Test("nobody can choose a name that uses up another caller's requests")
    func chosenNames() throws {
        // It has the places of ann where names alone are hashed.
        let installation = try Endpoint.installation(
            environment: ["CALLER_REQUESTS_PER_MINUTE": "60"])
        for _ in 0..<62 { _ = try ask(installation, user: "s2532121") }
        #expect(try ask(installation, user: "s2532121").status == 429)
        #expect(try ask(installation, user: "ann").status == 200)
        let salts = try (0..<2).map { _ in
            let other = try Endpoint.installation(environment: [:])
            _ = try ask(other, user: "ann")
            return other.state.read("requests.limit").map { $0.suffix(32) } ?? []
        }
        #expect(salts.allSatisfy { $0.count == 32 } && salts[0] != salts[1])
    }

    @Test("an API key's owner is counted, whichever key is used, and a server key is not")
    func keys() throws {
        let installation = try Endpoint.installation(
            environment: ["CALLER_REQUESTS_PER_MINUTE": "2"])
        func status(_ program: String, _ method: String, _ path: String, _ header: String) throws
            -> Int
        {
            let event = #"{"method":"\#(method)","path":"\#(path)","headers":{\#(header)}}"#
            return try Answer(
                event: Programs.run(
                    program, stdin: event, environment: installation.environment
                ).stdout
            ).status
        }
        let key = #""X-API-Key":"\#(Endpoint.key)""#
        for _ in 0..<2 { #expect(try status("api-keys", "GET", "/api-keys", key) == 200) }
        #expect(try status("api-keys", "GET", "/api-keys", key) == 429)
        #expect(try status("preferences", "GET", "/api/preferences", key) == 429)
        let server = #""Authorization":"Key \#(Endpoint.serverKey)""#
        for _ in 0..<5 {
            #expect(try status("badge", "GET", "/api/badge?userId=1783478", server) == 200)
        }
    }

    @Test("a user registers so many new tokens, and any number of known ones")
    func newTokens() throws {
        let installation = try Endpoint.installation(
            environment: ["NEW_TOKENS_PER_HOUR": "3", "DEVICES_PER_USER": "2"])
        func status(_ number: Int, user: String, activity: String? = nil) throws -> Int {
            let token = String(repeating: "0", count: 60) + String(1000 + number)
            var body: JSONObject = ["token": .string(token), "tokenType": "device"]
            if let activity {
                body["tokenType"] = "live_activity"
                body["activityId"] = .string(activity)
            } else if number > 1 {
                let previous = String(repeating: "0", count: 60) + String(999 + number)
                body["previousToken"] = .string(previous)
            }
            let event: JSONObject = [
                "method": "POST", "path": "/api/push/register",
                "headers": ["Authorization": .string("Bearer \(Self.token(of: user))")],
                "body": .object(body),
            ]
            let ended = try Programs.run(
                "push-register",
                stdin: String(decoding: JSON.text(.object(event)), as: UTF8.self),
                environment: installation.environment)
            let answer = try Answer(event: ended.stdout)
            if answer.status == 429 {
                let pause = try #require(answer.headers["retry-after"].flatMap(Int.init))
                #expect((1...1200).contains(pause))
            }
            return answer.status
        }
        #expect(try status(1, user: "ann") == 200)
        #expect(try status(2, user: "ann") == 200)
        for _ in 0..<3 { #expect(try status(2, user: "ann") == 200) }
        #expect(try status(3, user: "ann", activity: "game") == 200)
        #expect(try status(4, user: "ann") == 429)
        #expect(try status(5, user: "ann", activity: "another") == 429)
        #expect(try status(2, user: "ann") == 200)
        #expect(try status(6, user: "bob") == 200)
    }

    @Test("a registration that is refused is not counted among the new tokens")
    func refusedRegistration() throws {
        let installation = try Endpoint.installation(
            environment: ["NEW_TOKENS_PER_HOUR": "3", "DEVICES_PER_USER": "2"])
        func token(_ number: Int) -> JSONValue {
            .string(String(repeating: "0", count: 60) + String(1000 + number))
        }
        func status(_ number: Int, after previous: Int? = nil) throws -> Int {
            var body: JSONObject = ["token": token(number), "tokenType": "device"]
            body["previousToken"] = previous.map(token)
            let event: JSONObject = [
                "method": "POST", "path": "/api/push/register",
                "headers": ["Authorization": .string("Bearer \(Self.token(of: "ann"))")],
                "body": .object(body),
            ]
            let ended = try Programs.run(
                "push-register",
                stdin: String(decoding: JSON.text(.object(event)), as: UTF8.self),
                environment: installation.environment)
            return try Answer(event: ended.stdout).status
        }
        for number in 0..<2 { #expect(try status(number) == 200) }
        for number in 2..<8 { #expect(try status(number) == 409) }
        #expect(try status(8, after: 1) == 200)
    }

    @Test("a token that becomes a device's counts as a device")
    func otherKind() throws {
        let installation = try Endpoint.installation(
            environment: ["DEVICES_PER_USER": "2", "ACTIVITIES_PER_USER": "3"])
        var statuses: [Int] = []
        for number in 0..<4 {
            for kind in ["live_activity", "device"] {
                let token = String(repeating: "0", count: 60) + String(1000 + number)
                let event: JSONObject = [
                    "method": "POST", "path": "/api/push/register",
                    "headers": ["Authorization": .string("Bearer \(Self.token(of: "ann"))")],
                    "body": [
                        "token": .string(token), "tokenType": .string(kind),
                        "activityId": .string("a\(number)"),
                    ],
                ]
                let ended = try Programs.run(
                    "push-register",
                    stdin: String(decoding: JSON.text(.object(event)), as: UTF8.self),
                    environment: installation.environment)
                statuses.append(try Answer(event: ended.stdout).status)
            }
        }
        #expect(statuses == [200, 200, 200, 200, 200, 409, 200, 409])
    }

    @Test("a key is replaced twenty times at once, and no more")
    func rotations() throws {
        let installation = try Endpoint.installation(environment: [:])
        var key = Endpoint.key
        var statuses: [Int] = []
        for _ in 0..<22 {
            let event =
                #"{"method":"POST","path":"/rotate-api-key","headers":{"X-API-Key":"\#(key)"}}"#
            let answer = try Answer(
                event: Programs.run(
                    "rotate-api-key", stdin: event, environment: installation.environment
                ).stdout)
            statuses.append(answer.status)
            key = answer.json?.object?["api_key"]?.string ?? key
        }
        #expect(statuses == Array(repeating: 200, count: 20) + [429, 429])
    }

    @Test("of 64 requests at once no more pass than may")
    func crowd() throws {
        let installation = try Endpoint.installation(
            environment: ["CALLER_REQUESTS_PER_MINUTE": "10"])
        let token = Self.token(of: "ann")
        let event =
            #"{"method":"GET","path":"/api/devices","headers":{"Authorization":"Bearer \#(token)"}}"#
        let entries = installation.environment.map { "\($0.key)=\($0.value)" }
        let running = try (0..<64).map { _ in
            try Programs.start("devices-list", input: Array(event.utf8), entries: entries)
        }
        let statuses = try running.map { try Answer(event: $0.end().stdout).status }
        let passed = statuses.count { $0 == 200 }
        // While they ran, another one or two may have been allowed.
        #expect((10...20).contains(passed))
        #expect(statuses.allSatisfy { $0 == 200 || $0 == 429 })
    }
}

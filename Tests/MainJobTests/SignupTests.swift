import Foundation
import JSON
import TestSupport
import Testing
import Turnstone

/// Signing up by a code in a player's profile, as a player and as a stranger.
///
/// Not tested here: the limits of an IPv6 network behind a real proxy, and OGS's own search by name.
@Suite struct SignupTests {
    private let world: World

    init() throws {
        world = try World()
        world.variables["SIGNUP"] = "ogs-profile"
        // Requests are counted by the system's clock, so the pace must leave room for all of them.
        world.variables["OGS_REQUESTS_PER_SECOND"] = "1000"
        try world.simulator.perform(["do": "player", "player": 1, "name": "Ann Go"])
        try world.simulator.perform(["do": "player", "player": 2, "name": "Bob"])
    }

    private func post(
        _ path: String, _ body: JSONObject, from address: String = "192.0.2.1"
    ) throws -> (status: Int, body: JSONObject) {
        let event: JSONValue = [
            "version": "2.0", "rawPath": .string(path),
            "requestContext": ["http": ["method": "POST", "sourceIp": .string(address)]],
            "headers": ["content-type": "application/json"],
            "body": .string(String(decoding: JSON.text(.object(body)), as: UTF8.self)),
        ]
        let ended = try world.start("signup", event).end()
        let answer = try Answer(event: String(decoding: ended.output, as: UTF8.self))
        return (answer.status, answer.json?.object ?? [:])
    }

    private func begin(_ name: String) throws -> (code: String, token: String) {
        let answer = try post("/signup", ["username": .string(name)])
        #expect(answer.status == 200)
        return (answer.body["code"]?.string ?? "", answer.body["token"]?.string ?? "")
    }

    private func confirm(
        _ name: String, _ token: String, _ more: JSONObject = [:],
        from address: String = "192.0.2.1"
    ) throws -> (status: Int, body: JSONObject) {
        var body: JSONObject = ["username": .string(name), "token": .string(token)]
        for member in more.members { body[member.name] = member.value }
        return try post("/signup/confirm", body, from: address)
    }

    private func write(_ about: String, player: Int64 = 1) throws {
        try world.simulator.perform([
            "do": "player", "player": .integer(player), "about": .string(about),
        ])
    }

    /// The player whom a key belongs to.
    private func works(_ key: String?) throws -> Bool {
        let ended = try world.start(
            "api-keys",
            ["method": "GET", "path": "/api-keys", "headers": ["X-API-Key": .string(key ?? "")]]
        ).end()
        return try Answer(event: String(decoding: ended.output, as: UTF8.self)).status == 200
    }

    /// Ends a key by its own request.
    private func revoke(_ key: String?) throws {
        let listed = try keys(key)
        let id = try #require(listed.last?.object?["id"]?.string)
        let ended = try world.start(
            "api-keys",
            [
                "method": "DELETE", "path": .string("/api-keys/\(id)"),
                "headers": ["X-API-Key": .string(key ?? "")],
            ]
        ).end()
        #expect(try Answer(event: ended.stdout).status == 200)
    }

    /// The working keys of the player to whom a key belongs.
    private func keys(_ key: String?) throws -> [JSONValue] {
        let ended = try world.start(
            "api-keys",
            ["method": "GET", "path": "/api-keys", "headers": ["X-API-Key": .string(key ?? "")]]
        ).end()
        return try Answer(event: ended.stdout).json?.object?["api_keys"]?.array ?? []
    }

    @Test func aCodeInTheProfileMakesOneKey() throws {
        let (code, token) = try begin("Ann Go")
        #expect(try confirm("Ann Go", token).status == 403)
        try write("<p>Hi!<b> \(code.uppercased())</b></p>\n&lt;script&gt;")
        let answer = try confirm("Ann Go", token)
        #expect(answer.status == 200, "\(answer.body)")
        #expect(answer.body["user_id"] == "1")
        #expect(answer.body["username"] == "Ann Go")
        let key = answer.body["api_key"]?.string
        #expect(try works(key))
        // The answer may have been lost, so the same caller gets it again.
        try world.advance(seconds: 60)
        #expect(try confirm("Ann Go", token).body == answer.body)
        #expect(try keys(key).count == 1)
        // Not once the code is out of the profile, and not once the key has ended.
        try write("Hi!")
        #expect(try confirm("Ann Go", token).status == 403)
        try write(code)
        try revoke(key)
        #expect(try confirm("Ann Go", token).status == 401)
        // The key alone was stored, as a digest, and OGS's operators have nothing to complain about.
        let report = try world.simulator.perform(["do": "report"])
        #expect(report["ogs"]?.object?["violations"] == [])
    }

    @Test func aStrangerCannotUseACodeThatIsSeenInAProfile() throws {
        let (code, token) = try begin("Ann Go")
        try write("my code: \(code)")
        // The stranger reads the profile, and asks for codes.
        let (_, own) = try begin("Ann Go")
        #expect(try confirm("Ann Go", own, from: "203.0.113.9").status == 403)
        let (_, other) = try begin("Bob")
        #expect(try confirm("Ann Go", other, from: "203.0.113.9").status == 401)
        #expect(try confirm("Bob", token, from: "203.0.113.9").status == 401)
        #expect(try confirm("ANN GO", token, from: "203.0.113.9").status == 401)
        // A part of the code in the stranger's own profile, or many codes, are none.
        try write("turnstone-turnstone-\(code.dropLast())", player: 2)
        let (_, bobs) = try begin("Bob")
        #expect(try confirm("Bob", bobs).status == 403)
        // The player still gets the key.
        #expect(try confirm("Ann Go", token).status == 200)
    }

    @Test func anotherNamesAccountIsNeverMeant() throws {
        // Ann begins, is renamed, and somebody else takes her name.
        let (code, token) = try begin("Ann Go")
        try write(code)
        try world.simulator.perform(["do": "player", "player": 1, "name": "Anna"])
        try world.simulator.perform(["do": "player", "player": 3, "name": "Ann Go"])
        #expect(try confirm("Ann Go", token).status == 403)
        // Names that look alike are other names.
        for name in ["Ann\u{a0}Go", "Аnn Go", "nobody/../1", "1", "%41nna", "Anna&id=2"] {
            let (_, token) = try begin(name)
            #expect(try confirm(name, token).status == 404, "\(name)")
        }
        let (annas, proof) = try begin("Anna")
        try write(annas)
        #expect(try confirm("Anna", proof).body["user_id"] == "1")
    }

    @Test func twoRequestsAtOnceGetOneKey() throws {
        let (code, token) = try begin("Ann Go")
        try write(code)
        let body: JSONValue = [
            "method": "POST", "path": "/signup/confirm",
            "body": ["username": "Ann Go", "token": .string(token)],
        ]
        let running = try (0..<5).map { _ in try world.start("signup", body) }
        let answers = try running.map { try Answer(event: $0.end().stdout) }
        #expect(answers.allSatisfy { $0.status == 200 }, "\(answers)")
        let made = Set(answers.map { $0.json?.object?["api_key"]?.string })
        #expect(made.count == 1, "\(made)")
        #expect(try keys(made.first ?? nil).count == 1)
    }

    @Test(
        "wherever a confirmation is killed, the same one makes the key, and only one",
        .enabled(if: SystemCalls.isPossible), arguments: 1...24)
    func killed(call: Int) throws {
        let (code, token) = try begin("Ann Go")
        try write(code)
        let body: JSONValue = [
            "method": "POST", "path": "/signup/confirm",
            "body": ["username": "Ann Go", "token": .string(token)],
        ]
        let calls = "rename,renameat,fsync,fdatasync,write,pwrite64"
        let cut = try Programs.start(
            at: SystemCalls.tracer,
            [
                "-qq", "-o", "/dev/null", "-e", "trace=\(calls)", "-e",
                "inject=\(calls):signal=KILL:when=\(call)", "--",
                "\(Programs.folder)/signup",
            ], input: JSON.text(body), entries: world.environment.map { "\($0.key)=\($0.value)" }
        ).end()
        let answer = try confirm("Ann Go", token)
        #expect(answer.status == 200, "killed at call \(call): \(answer.body) \(cut.stderr)")
        let key = answer.body["api_key"]?.string
        #expect(try keys(key).count == 1)
        #expect(try works(key))
    }

    @Test func aKeyThatWasErasedIsNotMadeAgain() throws {
        world.variables["TURNSTONE_SERVER_KEY"] = "server-key-1-of-thirty-two-bytes"
        let (code, token) = try begin("Ann Go")
        try write(code)
        let key = try confirm("Ann Go", token).body["api_key"]?.string
        let erased = try world.start(
            "users",
            [
                "method": "DELETE", "path": "/api/users/1",
                "headers": ["Authorization": "Key server-key-1-of-thirty-two-bytes"],
            ]
        ).end()
        #expect(try Answer(event: erased.stdout).status == 200)
        #expect(try confirm("Ann Go", token).status == 401)
        #expect(try !works(key))
    }

    @Test func aCodeMakesNoKeyForAnotherPlayerOfThatName() throws {
        let (code, token) = try begin("Ann Go")
        try write(code)
        #expect(try confirm("Ann Go", token).status == 200)
        try world.simulator.perform(["do": "player", "player": 1, "name": "Anna"])
        try world.simulator.perform([
            "do": "player", "player": 3, "name": "Ann Go", "about": .string(code),
        ])
        #expect(try confirm("Ann Go", token).status == 401)
    }

    @Test func aSecondSignupLeavesTheFirstKeyUnlessAskedTo() throws {
        world.variables["KEYS_PER_USER"] = "2"
        var keys: [String?] = []
        for _ in 0..<2 {
            let (code, token) = try begin("Ann Go")
            try write(code)
            keys.append(try confirm("Ann Go", token).body["api_key"]?.string)
        }
        for key in keys { #expect(try works(key)) }
        let (code, token) = try begin("Ann Go")
        try write(code)
        #expect(try confirm("Ann Go", token).status == 409)
        // The code was not used up by that.
        let answer = try confirm("Ann Go", token, ["revoke_others": true])
        #expect(answer.status == 200, "\(answer.body)")
        #expect(try works(answer.body["api_key"]?.string))
        for key in keys { #expect(try !works(key)) }
    }

    @Test func aFloodFromOneAddressStopsAndLeavesOthersAlone() throws {
        let (_, token) = try begin("Ann Go")
        let statuses = try (0..<10).map { number in
            try confirm("Ann Go", token, from: "2001:db8:1:2::\(number)").status
        }
        #expect(statuses == Array(repeating: 403, count: 6) + Array(repeating: 429, count: 4))
        let requests = try world.simulator.perform(["do": "report"])["ogs"]?.object?["requests"]
        #expect(requests == 12)
        let (code, own) = try begin("Ann Go")
        try write(code)
        #expect(try confirm("Ann Go", own, from: "2001:db8:1:3::1").status == 200)
        // Made-up tokens ask OGS nothing, and spend only their sender's attempts.
        for _ in 0..<20 { _ = try confirm("Bob", "1.2.3", from: "203.0.113.9") }
        #expect(try confirm("Bob", "1.2.3", from: "203.0.113.9").status == 429)
        let after = try world.simulator.perform(["do": "report"])["ogs"]?.object?["requests"]
        #expect(after == 14)
    }

    @Test func ogsIsLeftAloneWhenItAsksForThat() throws {
        let (code, token) = try begin("Ann Go")
        try write(code)
        try world.simulator.perform([
            "do": "ogs-fault", "status": 429, "retry_after": 60, "count": 1,
        ])
        #expect(try confirm("Ann Go", token).status == 503)
        #expect(try confirm("Ann Go", token).status == 503)
        let requests = try world.simulator.perform(["do": "report"])["ogs"]?.object?["requests"]
        #expect(requests == 1)
        try world.advance(seconds: 61)
        #expect(try confirm("Ann Go", token).status == 200)
    }

    @Test func aUserOfTheAppIsNotTakenForThePlayerOfThatNumber() throws {
        world.variables["JWT_SECRET"] = jwtSecret
        let registered = try world.start(
            "push-register",
            [
                "method": "POST", "path": "/api/push/register",
                "headers": ["Authorization": .string(bearer("1"))],
                "body": ["token": .string(token(1)), "tokenType": "device"],
            ]
        ).end()
        #expect(try Answer(event: registered.stdout).status == 200)
        let (shown, proof) = try begin("Ann Go")
        try write(shown)
        #expect(try confirm("Ann Go", proof).status == 409)
    }

    @Test func aCodeServesOnceThoughTheClockWasAhead() throws {
        let (code, proof) = try begin("Ann Go")
        try write(code)
        let key = try confirm("Ann Go", proof).body["api_key"]?.string
        try revoke(key)
        try world.advance(seconds: 31 * 60)
        let (other, token) = try begin("Bob")
        try write(other, player: 2)
        #expect(try confirm("Bob", token).status == 200)
        try world.advance(seconds: -31 * 60)
        #expect(try confirm("Ann Go", proof).status == 401)
    }

    @Test func attemptsThatAskNothingReserveNoTime() throws {
        world.variables["OGS_REQUESTS_PER_SECOND"] = "1"
        let (_, proof) = try begin("Ann Go")
        let running = try (0..<12).map { number in
            try world.start(
                "signup",
                [
                    "version": "2.0", "rawPath": "/signup/confirm",
                    "requestContext": [
                        "http": ["method": "POST", "sourceIp": .string("192.0.2.\(number)")]
                    ],
                    "headers": ["content-type": "application/json"],
                    "body": .string(
                        String(
                            decoding: JSON.text(["username": "Ann Go", "token": .string(proof)]),
                            as: UTF8.self)),
                ])
        }
        for program in running { _ = try program.end() }
        let text = String(decoding: world.state.read("ogs.pace") ?? [], as: UTF8.self)
        let ahead = try #require(Int64(text))
        let now = Int64(Date().timeIntervalSince1970 * 1_000_000)
        #expect(ahead - now < 4_500_000, "\(ahead - now) µs")
    }
}

import Crypto
import Foundation
import JSON
import TestSupport
import Testing
import Turnstone

/// `DELETE /api/users/{id}`, with all that can be known of a user.
@Suite struct ErasureTests {
    /// Neither comes about by chance, in a number or a hash.
    private static let player = "917364285"
    private static let other = "zorro"
    private static let phone = String(repeating: "8086", count: 16)

    private let folder = TemporaryFolder()
    private var state: String { "\(folder.path)/state" }
    private let masterKey = "m", serverKey = "the key of whoever erases a user"
    private let secret = "a secret of the tests of 32 bytes"

    private var environment: [String: String] {
        [
            "TURNSTONE_STATE": state, "TURNSTONE_CONFIG": "/dev/null", "MASTER_API_KEY": masterKey,
            "TURNSTONE_SERVER_KEY": serverKey, "TURNSTONE_DELIVER": "external",
            "JWT_SECRET": secret, "DELIVER_LINGER_SECONDS": "0",
            "TURNSTONE_NOW": "1795262400000",
        ]
    }

    @discardableResult
    private func ask(
        _ program: String, _ method: String, _ path: String, _ headers: [String: String] = [:],
        _ body: JSONObject? = nil
    ) throws -> Answer {
        var event: JSONObject = ["method": .string(method), "path": .string(path)]
        var fields = JSONObject()
        for (name, value) in headers { fields[name] = .string(value) }
        event["headers"] = .object(fields)
        event["body"] = body.map { .object($0) }
        let text = String(decoding: JSON.text(.object(event)), as: UTF8.self)
        return try Answer(
            event: Programs.run(program, stdin: text, environment: environment).stdout)
    }

    private var server: [String: String] { ["Authorization": "Key \(serverKey)"] }

    private func bearer(_ user: String) -> [String: String] {
        let claims: JSONValue = ["sub": .string(user), "exp": 4_102_444_800]
        let signed = base64URL(JSON.text(["alg": "HS256"])) + "." + base64URL(JSON.text(claims))
        let code = base64URL(hmacSHA256(Array(signed.utf8), key: Array(secret.utf8)))
        return ["Authorization": "Bearer \(signed).\(code)"]
    }

    private func deliver() throws {
        _ = try Programs.run("deliver", environment: environment)
    }

    /// Every file with the text in its name or its bytes.
    private func mentions(_ text: String) throws -> [String] {
        let needle = Data(text.utf8)
        return try FileManager.default.subpathsOfDirectory(atPath: state).sorted().filter { name in
            if name.contains(text) { return true }
            let data = FileManager.default.contents(atPath: "\(state)/\(name)")
            return data?.range(of: needle) != nil
        }
    }

    private func write(_ text: String, to name: String) throws {
        try folder.write(Array(text.utf8), to: "state/\(name)")
    }

    private func register(_ token: String, for user: String, _ more: JSONObject = [:]) throws {
        var body: JSONObject = ["token": .string(token), "tokenType": "device"]
        for member in more.members { body[member.name] = member.value }
        let answer = try ask("push-register", "POST", "/api/push/register", bearer(user), body)
        #expect(answer.status == 200, "\(answer.body)")
    }

    private func notify(_ users: [String], _ more: JSONObject = [:]) throws -> String {
        var body: JSONObject = ["users": JSONValue(texts: users), "title": "Hello"]
        for member in more.members { body[member.name] = member.value }
        let answer = try ask("notify", "POST", "/api/notify", server, body)
        #expect(answer.status == 202, "\(answer.body)")
        return answer.json?.object?["id"]?.string ?? ""
    }

    /// A player with every file that the programs keep about one.
    private func fill() throws -> (key: String, both: String) {
        let user = Self.player
        let made = try ask(
            "generate-api-key", "POST", "/generate-api-key", [:],
            ["user_id": .string(user), "master_key": .string(masterKey)])
        let first = try #require(made.json?.object?["api_key"]?.string)
        // One that was rotated stays as a revoked one.
        let rotated = try ask(
            "rotate-api-key", "POST", "/rotate-api-key", ["X-API-Key": first])
        let key = try #require(rotated.json?.object?["api_key"]?.string)
        let registered = try ask(
            "register", "POST", "/register", ["X-API-Key": key],
            ["user_id": .string(user), "device_token": .string(Self.phone)])
        #expect(registered.status == 200, "\(registered.body)")
        try register(String(repeating: "ab12", count: 16), for: user)
        try register(String(repeating: "cd34", count: 16), for: Self.other)
        try register(
            String(repeating: "ef56", count: 16), for: user,
            ["tokenType": "live_activity", "activityId": "a", "sessionId": "s"])
        let activity: JSONObject = [
            "activityId": "a", "event": "update", "contentState": ["n": 1],
        ]
        try ask("live-activity", "POST", "/api/push/live-activity", server, activity)
        // Receipts of several days, of this user and of both.
        _ = try notify([user])
        let both = try notify([user, Self.other], ["kind": "both"])
        try deliver()
        let receipts = try String(
            contentsOfFile: "\(state)/receipts/2026-11-21.apns.1.jsonl", encoding: .utf8)
        #expect(receipts.contains("\"user\":\"\(user)\""))
        for day in ["2026-11-18", "2026-11-20"] {
            try write(receipts, to: "receipts/\(day).apns.1.jsonl")
        }
        // Waiting ones, of this user and of both; the badge's; one held for quiet hours.
        _ = try notify([user], ["send_after": 1_795_269_600])
        _ = try notify([user, Self.other], ["send_after": 1_795_269_600, "badge": "+1"])
        _ = try notify([user])
        _ = try ask("badge", "PUT", "/api/badge", bearer(user), ["badge": 7])
        let quiet: JSONObject = [
            "quietHours": ["from": "00:00", "to": "23:59", "timeZone": "UTC"]
        ]
        let preferences = try ask("preferences", "PUT", "/api/preferences", bearer(user), quiet)
        #expect(preferences.status == 200, "\(preferences.body)")
        _ = try notify([user])
        // Rarer files, written by hand.
        let shard = try #require(
            try mentions("\"devices\"").first { $0.hasPrefix("users/") && $0.contains(user) })
        let parent = (shard as NSString).deletingLastPathComponent
        try write("{\"x\": \"\(user)\"", to: "\(parent)/\(user).json.corrupt-1795262400000")
        try write("{\"x\": \"\(user)\"", to: "\(parent)/\(user).json.new")
        let look = "looks/\(parent.suffix(2))/\(user).json"
        try write("{\"version\":1,\"revision\":1,\"at\":1,\"skipped\":0,\"games\":[]}", to: look)
        try write("", to: "\(look).lock")
        let index = try #require(try mentions("\"\(user)\"").first { $0.hasPrefix("tokens/") })
        try write("{\"users\":[\"\(user)\",", to: "\(index).corrupt-1795262400000")
        try write("{\"users\":[\"\(user)\"]}", to: "\(index).new")
        try write(
            "deliver: failed user=\"\(user)\" device=\"80868086…\"\nother\n", to: "deliver.log")
        let record = """
            {"version":1,"revision":1,"accepted_at":1795262400000,"kind":"message","devices":0,\
            "failed":["\(user)"],"later":["\(Self.other)","\(user)"],"receipts":{}}
            """
        let records = "messages/2026-11-21/163b0606-dc8f-8930-b874-bcf3fd59974"
        try write(record, to: "\(records)1.json")
        try write(String(record.dropLast(9)), to: "\(records)2.json")
        try write(record, to: "\(records)3.json.new")
        try write("deliver: failed user=\"\(user)\"\n", to: "deliver.log.1")
        try write("{\"user\":\"\(user)\"\n", to: "spool/apns/failed/x.jsonl")
        let leftover = "spool/apns/ready/normal/c0dec0de-0000-4000-8000-000000000000.jsonl.new"
        try write("{\"version\":1,\"user\":\"\(user)\"", to: leftover)
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: -600)],
            ofItemAtPath: "\(state)/\(leftover)")
        return (key, both)
    }

    private func receipts() throws -> [String: [String]] {
        let names = try FileManager.default.contentsOfDirectory(atPath: "\(state)/receipts")
        return try Dictionary(
            uniqueKeysWithValues: names.map { name in
                let text = try String(contentsOfFile: "\(state)/receipts/\(name)", encoding: .utf8)
                return (name, text.components(separatedBy: "\n"))
            })
    }

    @Test("nothing with the id is left, and other users keep their data")
    func everything() throws {
        let (key, both) = try fill()
        let filled = try mentions(Self.player)
        #expect(filled.count > 15, "\(filled)")
        let before = try receipts()
        let answer = try ask("users", "DELETE", "/api/users/\(Self.player)", server)
        #expect(answer.status == 200, "\(answer.body)")
        let erased = answer.json?.object?["erased"]?.object
        #expect(erased?["devices"] == 3, "\(answer.body)")
        #expect(erased?["apiKeys"] == 2, "\(answer.body)")
        #expect((erased?["pushes"]?.integer ?? 0) >= 5, "\(answer.body)")
        #expect(try mentions(Self.player) == [])
        #expect(try mentions(Self.phone) == [])
        // Receipts: each line keeps its length, and still states a push's outcome.
        for (name, lines) in before {
            let after = try #require(try receipts()[name])
            // The last one is empty: today's has more by now.
            for (old, new) in zip(lines.dropLast(), after) {
                #expect(old.utf8.count == new.utf8.count)
                let members = try JSON.parse(Array(new.utf8)).object
                var known = try JSON.parse(Array(old.utf8)).object
                if known?["user"] == .string(Self.player) { known?["user"] = nil }
                #expect(members == known)
            }
        }
        let report = try ask("notify", "GET", "/api/notify/\(both)", server)
        #expect(report.json?.object?["counts"]?.object?["accepted"] == 3, "\(report.body)")
        // The other user still gets the waiting messages.
        #expect(try mentions(Self.other).contains { $0.hasPrefix("spool/apns/waiting/") })
        #expect(try ask("check", "GET", "/check/\(Self.player)", ["X-API-Key": key]).status == 401)
        #expect(try ask("users", "GET", "/api/users/\(Self.player)", server).status == 404)
        #expect(try ask("users", "DELETE", "/api/users/\(Self.player)", server).status == 404)
        let survivor = try ask("users", "GET", "/api/users/\(Self.other)", server)
        #expect(survivor.json?.object?["user"]?.object?["devices"]?.array?.count == 1)
        // The programs go on: nothing counts as lost or damaged.
        #expect(try Programs.run("deliver", environment: environment).exitCode == 0)
        try register(Self.phone, for: Self.player)
        let fresh = try ask("users", "GET", "/api/users/\(Self.player)", server)
        let user = fresh.json?.object?["user"]?.object
        #expect(user?["devices"]?.array?.count == 1 && user?["badge"] == 0, "\(fresh.body)")
        #expect(!fresh.body.contains(Self.phone))
    }

    @Test("an erasure that is killed in between is finished by the next one")
    func killed() throws {
        for delay in [2, 5, 10, 20, 40] {
            let test = ErasureTests()
            _ = try test.fill()
            let event =
                #"{"method": "DELETE", "path": "/api/users/\#(Self.player)", "headers": "#
                + #"{"Authorization": "Key \#(serverKey)"}}"#
            let program = try Programs.start(
                "users", input: Array(event.utf8),
                entries: test.environment.map { "\($0.key)=\($0.value)" })
            usleep(UInt32(delay) * 1000)
            program.send(SIGKILL)
            _ = try? program.end(timeLimit: 10)
            let answer = try test.ask("users", "DELETE", "/api/users/\(Self.player)", test.server)
            #expect([200, 404].contains(answer.status), "\(answer.body)")
            #expect(try test.mentions(Self.player) == [], "after \(delay) ms")
        }
    }

    @Test("a drainer at work is asked to end, and what it has not sent is erased")
    func drainer() throws {
        try register(Self.phone, for: Self.player)
        let lasting = environment.merging(["DELIVER_LINGER_SECONDS": "60"]) { $1 }
        let drainer = try Programs.start(
            "deliver", entries: lasting.map { "\($0.key)=\($0.value)" })
        // It is elected once its sign of life is there.
        try wait(until: "the drainer is elected") { try mentions("\"pid\"") != [] }
        _ = try notify([Self.player], ["send_after": 1_795_269_600])
        let answer = try ask("users", "DELETE", "/api/users/\(Self.player)", server)
        #expect(answer.json?.object?["erased"]?.object?["pushes"] == 1, "\(answer.body)")
        #expect(try mentions(Self.player) == [])
        #expect(try drainer.end(timeLimit: 30).exitCode == 0)
    }

    @Test("a user whose lock is removed can be written at once by a process that waits for it")
    func crowd() throws {
        try register(Self.phone, for: Self.player)
        let body: JSONObject = ["token": .string(Self.phone), "tokenType": "device"]
        var fields = JSONObject()
        for (name, value) in bearer(Self.player) { fields[name] = .string(value) }
        let event: JSONValue = [
            "method": "POST", "path": "/api/push/register", "headers": .object(fields),
            "body": .object(body),
        ]
        let input = JSON.text(event)
        for _ in 0..<10 {
            let running = try (0..<8).map { number in
                try Programs.start(
                    number == 4 ? "users" : "push-register",
                    input: number == 4
                        ? Array(
                            #"{"method": "DELETE", "path": "/api/users/\#(Self.player)", "headers": {"Authorization": "Key \#(serverKey)"}}"#
                                .utf8) : input,
                    entries: environment.map { "\($0.key)=\($0.value)" })
            }
            for (number, program) in running.enumerated() {
                let answer = try Answer(event: program.end(timeLimit: 20).stdout)
                // While the erasure runs, a registration has to be repeated.
                #expect(
                    [200, number == 4 ? 404 : 503].contains(answer.status), "\(answer.body)")
            }
        }
        try register(Self.phone, for: Self.player)
        let known = try ask("users", "GET", "/api/users/\(Self.player)", server)
        #expect(known.json?.object?["user"]?.object?["devices"]?.array?.count == 1)
    }
}

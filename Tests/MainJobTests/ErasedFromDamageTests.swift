import Foundation
import JSON
import TestSupport
import Testing
import Turnstone

/// An erased user is nowhere, also where files are damaged or a disk fails; and others' files stay what they
/// are.
@Suite struct ErasedFromDamageTests {
    private func begin(_ users: [String]) throws -> World {
        let world = try World.withBackend()
        for (number, user) in users.enumerated() {
            try world.registerPhone(number + 1, of: user)
        }
        return world
    }

    /// Accepts a message, damages its file, and lets a drainer set it aside.
    ///
    /// - Returns: the file's name.
    private func setAside(_ world: World, _ body: JSONObject, _ damage: String) throws -> String {
        let id = try world.sent(body)
        let name = try #require(world.spooled().first { $0.contains(id) })
        let text = try String(decoding: #require(world.state.read(name)), as: UTF8.self)
        switch damage {
        case "a line": try world.state.write("\(text){\"n\":\n", to: name)
        case "the first line": try world.state.write("x\(text)", to: name)
        case "no first line":
            try world.state.write(
                text.split(separator: "\n").dropFirst().joined(separator: "\n") + "\n", to: name)
        case "a cut": try world.state.write(String(text.dropLast()), to: name)
        case "newer":
            try world.state.write(
                text.replacing("\"version\":1", with: "\"version\":9"), to: name)
        default: throw TestFailure(damage)
        }
        try world.run("deliver")
        return try #require(world.state.files().keys.first { $0.contains("/failed/\(id)") })
    }

    @Test(
        "what was set aside of the user's is removed",
        arguments: ["a line", "a cut", "newer", "the first line"])
    func own(damage: String) throws {
        let world = try begin(["zebra-4711", "ben"])
        let name = try setAside(world, ["users": ["zebra-4711"], "title": "Private"], damage)
        try world.erase("zebra-4711")
        #expect(world.state.read(name) == nil)
        try expectGone("zebra-4711", token(1), from: world)
    }

    @Test(
        "the token, too, of a file that has lost the line that says whose it is",
        arguments: [false, true])
    func headless(isShared: Bool) throws {
        let world = try begin(["zebra-4711", "ben"])
        let users: JSONValue = isShared ? ["zebra-4711", "ben"] : ["zebra-4711"]
        let name = try setAside(world, ["users": users, "title": "Private"], "no first line")
        try world.erase("zebra-4711")
        try expectGone("zebra-4711", token(1), from: world)
        let left = String(decoding: world.state.read(name) ?? [], as: UTF8.self)
        #expect(left.contains(token(2)) == isShared, "\(left)")
    }

    @Test("the same before a drainer has found it", arguments: [false, true])
    func headlessInPlace(isPutOff: Bool) throws {
        let world = try begin(["zebra-4711", "ben"])
        if isPutOff {
            try world.simulator.perform(["do": "apns-fault", "status": 503, "count": 1])
        }
        _ = try world.sent(["users": ["zebra-4711"], "title": "Private"])
        if isPutOff { try world.run("deliver") }
        let name = try #require(world.spooled().first { $0.hasSuffix(".jsonl") })
        let text = try String(decoding: #require(world.state.read(name)), as: UTF8.self)
        try world.state.write(
            text.split(separator: "\n").dropFirst().joined(separator: "\n") + "\n", to: name)
        try world.erase("zebra-4711")
        try expectGone("zebra-4711", token(1), from: world)
    }

    @Test(
        "what was held, too, if the file of the release that brings it is damaged",
        arguments: ["no first line", "nothing"])
    func releaseWithDamage(damage: String) throws {
        let world = try begin(["zebra-4711", "ben"])
        try world.change("zebra-4711") {
            $0.preferences.mutedUntil = Timestamp(milliseconds: world.now) + .minutes(60)
        }
        let id = try world.sent([
            "users": ["zebra-4711"], "title": "Private", "expires_in": 86_400,
        ])
        try world.run("deliver")
        try world.advance(seconds: 3_700)
        try world.simulator.perform(["do": "apns-fault", "status": 503, "count": 1])
        try world.run("deliver")
        let name = try #require(world.spooled().first { $0.contains("/waiting/") })
        let text = try String(decoding: #require(world.state.read(name)), as: UTF8.self)
        let rest = text.split(separator: "\n").dropFirst().joined(separator: "\n") + "\n"
        try world.state.write(damage == "nothing" ? "" : rest, to: name)
        try world.erase("zebra-4711")
        try expectGone("zebra-4711", token(1), from: world)
        try world.registerPhone(1, of: "zebra-4711")
        try world.advance(seconds: 2_000)
        try world.run("deliver")
        #expect(try world.acceptedIDs().isEmpty)
        #expect(try world.report(id)["counts"] == ["cancelled": 1])
    }

    /// Ids that JSON or a log writes with escapes.
    static let escapedIDs = [#"ze"bra\4711"#, "zebra\u{200e}4711", "zebra\u{85}4711"]

    private func path(_ user: String) -> String {
        user.utf8.map { "%" + String(Int($0) + 256, radix: 16).dropFirst() }.joined()
    }

    @Test("also if a file was cut right behind the user's id", arguments: [false, true])
    func cut(isShared: Bool) throws {
        let world = try begin(["zebra-4711", "ben"])
        let users: JSONValue = isShared ? ["ben", "zebra-4711"] : ["zebra-4711"]
        _ = try world.sent(["users": users, "title": "Private"])
        let name = try #require(world.spooled().first)
        let text = try String(decoding: #require(world.state.read(name)), as: UTF8.self)
        let id = try #require(text.range(of: "zebra-4711", options: .backwards))
        try world.state.write(String(text[..<id.upperBound]), to: name)
        let receipt = "receipts/2026-11-19.apns.1.jsonl.unreadable-1795000000000"
        let line = "{\"id\":\"a\",\"n\":0,\"user\":\"zebra-4711"
        try world.state.write(line, to: receipt)
        // So does a drainer that was killed.
        try world.state.write("{}\n\(line)", to: "receipts/2026-11-19.apns.1.jsonl")
        try world.state.write("deliver: failed user=\"zebra-4711", to: "deliver.log.1")
        try world.erase("zebra-4711")
        try expectGone("zebra-4711", token(1), from: world)
        #expect(world.state.read(receipt) != nil)
    }

    @Test("also if an operator has begun to repair a file", arguments: [false, true])
    func halfRepaired(isFirstFieldWhole: Bool) throws {
        let world = try begin(["zebra-4711", "ben"])
        let name = try setAside(
            world, ["users": ["zebra-4711"], "title": "Private"], "the first line")
        let text = try String(decoding: #require(world.state.read(name)), as: UTF8.self)
        try world.state.write(
            text.replacing(
                #""user":"zebra-4711","accepted_at""#,
                with: #""user": "zebra-4711", "\#(isFirstFieldWhole ? "accepted_at" : "accepted")""#
            ),
            to: name)
        try world.erase("zebra-4711")
        for (name, bytes) in world.state.files() {
            #expect(!String(decoding: bytes, as: UTF8.self).contains("zebra"), "\(name)")
        }
    }

    @Test(
        "whichever byte of a file is damaged, or wherever it is cut", arguments: [false, true],
        [false, true])
    func everyByte(isShared: Bool, isCut: Bool) throws {
        let world = try begin(["zebra-4711", "ben"])
        let users: JSONValue = isShared ? ["ben", "zebra-4711"] : ["zebra-4711"]
        _ = try world.sent(["users": users, "title": "Private"])
        let name = try #require(world.spooled().first)
        let bytes = try #require(world.state.read(name))
        try world.state.remove(name)
        for place in bytes.indices {
            var damaged = isCut ? Array(bytes[..<place]) : bytes
            if !isCut { damaged[place] = UInt8(ascii: "#") }
            let number = String(1_000_000 + place).dropFirst()
            try world.state.write(
                damaged, to: "spool/apns/failed/00000000-0000-4000-8000-000000\(number).jsonl")
        }
        try world.erase("zebra-4711")
        let failed = world.state.files().filter { $0.key.contains("/failed/") }
        for (name, bytes) in failed {
            let text = String(decoding: bytes, as: UTF8.self)
            #expect(!text.contains("zebra-4711"), "\(name): \(text)")
            // With another id it is another user's, for all that anybody can tell.
            let other = text.firstMatch(of: #/"user":"[^"#]*#[^"]*"/#)
            if let other, !other.output.contains("----------") { continue }
            #expect(!text.contains(token(1)), "\(name): \(text)")
        }
        if isShared, !isCut {
            #expect(failed.count == bytes.count)
            #expect(
                failed.values.allSatisfy {
                    String(decoding: $0, as: UTF8.self).contains("Pri")
                        || String(decoding: $0, as: UTF8.self).contains("ate")
                })
        }
    }

    @Test(
        "an id that stands in the spool's own members takes nothing of others",
        arguments: ["d", "d_at", "n", "1", "ben2"])
    func short(id: String) throws {
        let world = try begin([id, "ben", "eve"])
        let name = try setAside(
            world, ["users": ["ben", "eve"], "title": "T", "data": ["a": .string(id)]],
            "the first line")
        let before = try #require(world.state.read(name)).count
        try world.erase(id)
        #expect(world.state.read(name)?.count == before)
    }

    @Test(
        "also from a line of receipts that is damaged",
        arguments: ["", ".unreadable-1795000000000"])
    func receipts(suffix: String) throws {
        let world = try begin(["zebra-4711", "ben"])
        let name = "receipts/2026-11-19.apns.1.jsonl\(suffix)"
        let line = #"{"id":"a","n":0,"user":"zebra-4711","at":1}"#
        for place in line.utf8.indices where !line[place...].utf8.starts(with: "zebra-4711".utf8) {
            var text = Array(line.utf8)
            text[line.utf8.distance(from: line.startIndex, to: place)] = UInt8(ascii: "#")
            let old = String(decoding: world.state.read(name) ?? [], as: UTF8.self)
            try world.state.write("\(old)\(String(decoding: text, as: UTF8.self))\n", to: name)
        }
        let before = try #require(world.state.read(name)).count
        try world.erase("zebra-4711")
        let left = try #require(world.state.read(name))
        #expect(left.count == before)
        #expect(!String(decoding: left, as: UTF8.self).contains("\"zebra-4711\""))
    }

    @Test("nor are others' lines that are damaged changed", arguments: ["0", "n", "user", "1"])
    func othersReceipts(id: String) throws {
        let world = try begin([id, "ben"])
        let name = "receipts/2026-11-19.apns.1.jsonl.unreadable-1795000000000"
        let text =
            #"{"id":"a","n":0,"user":"bob","at":1#"# + "\n" + #"{"id":"a","from":0,"to":1,"at"#
        try world.state.write("\(text)\n", to: name)
        try world.erase(id)
        #expect(world.state.read(name) == Array("\(text)\n".utf8))
    }

    @Test("a token that another user has as well stays in that user's damaged line")
    func sharedToken() throws {
        let world = try World()
        for user in 1...2 { try world.register(token(1), of: Int64(user)) }
        world.variables["TURNSTONE_SERVER_KEY"] = World.serverKey
        let name = "spool/apns/failed/00000000-0000-4000-8000-000000000001.jsonl"
        let first = #"{"version":1,"id":"00000000-0000-4000-8000-000000000001","accepted_at":1}"#
        let text = "\(first)\n" + ##"{"n":0,"device":"\##(token(1))","user":"2"#"## + "\n"
        try world.state.write(text, to: name)
        try world.erase("1")
        #expect(world.state.read(name) == Array(text.utf8))
    }

    @Test(
        "words of a message's damaged record stay",
        arguments: ["devices", "message", "apns", "revision"])
    func record(id: String) throws {
        let world = try begin([id, "ben"])
        let message = try world.sent(["users": ["ben"], "title": "T"])
        let name = try #require(
            world.state.files().keys.first { $0.hasPrefix("messages/") && $0.contains(message) })
        let record = try #require(world.state.read(name))
        try world.state.write(record, to: "\(name).corrupt-1795000000000")
        try world.erase(id)
        #expect(world.state.read("\(name).corrupt-1795000000000") == record)
        #expect(world.state.read(name) == record)
    }

    @Test("a message for others as well is not held for the user whose box cannot be read")
    func held() throws {
        let world = try begin(["zebra-4711", "ben"])
        try world.change("zebra-4711") {
            $0.preferences.mutedUntil = Timestamp(milliseconds: world.now) + .minutes(60)
        }
        let id = try world.sent(["users": ["zebra-4711", "ben"], "title": "Hello"])
        try world.run("deliver")
        let name = try #require(world.spooled().first { $0.contains("/held/") })
        try world.state.write("x", to: name)
        try world.erase("zebra-4711")
        #expect(try world.report(id)["counts"] == ["accepted": 1, "cancelled": 1])
    }

    @Test("also if the user's id is written with escapes", arguments: escapedIDs)
    func escaped(user: String) throws {
        let world = try begin([user, "ben"])
        let name = try setAside(world, ["users": [.string(user)], "title": "Private"], "a line")
        try world.erase(path(user))
        #expect(world.state.read(name) == nil)
    }

    @Test("and from the log", arguments: escapedIDs)
    func escapedInTheLog(user: String) throws {
        let world = try begin([user, "ben"])
        let line = JSON.text(["program": "deliver", "user": .string(user)])
        let text = withoutControls(String(decoding: line, as: UTF8.self))
        try world.state.write(line + Array("\n\(text)\n".utf8), to: "deliver.log")
        try world.erase(path(user))
        let left = String(decoding: world.state.read("deliver.log") ?? [], as: UTF8.self)
        #expect(left.contains("deliver") && !left.contains("4711"), "\(left)")
    }

    @Test("and from damaged documents", arguments: escapedIDs)
    func escapedInDocuments(user: String) throws {
        let world = try begin([user, "ben"])
        let documents = world.state.files().filter {
            $0.key.hasSuffix(".json") && String(decoding: $0.value, as: UTF8.self).contains("bra")
        }
        try #require(documents.keys.contains { $0.hasPrefix("tokens/") })
        for (name, bytes) in documents {
            try world.state.write(bytes.dropLast(5) + [], to: "\(name).corrupt-1")
        }
        try world.erase(path(user))
        try expectGone("bra", token(1), from: world)
    }

    @Test(
        "of what was set aside for several users, the user's devices are removed",
        arguments: ["a line", "the first line"])
    func shared(damage: String) throws {
        let world = try begin(["zebra-4711", "ben"])
        let name = try setAside(world, ["users": ["zebra-4711", "ben"], "title": "T"], damage)
        try world.erase("zebra-4711")
        let text = String(decoding: world.state.read(name) ?? [], as: UTF8.self)
        #expect(text.contains("ben") && text.contains(token(2)))
        #expect(text.contains(damage == "a line" ? "{\"n\":\n" : "x{"))
        try expectGone("zebra-4711", token(1), from: world)
    }

    @Test("a phone of two of its users is still the other's, once the file is repaired")
    func sharedPhone() throws {
        let world = try World()
        for user in 1...2 { try world.register(token(1), of: Int64(user)) }
        world.variables["TURNSTONE_SERVER_KEY"] = World.serverKey
        let name = try setAside(world, ["users": ["1", "2"], "title": "T"], "a line")
        try world.erase("1")
        let text = try String(decoding: #require(world.state.read(name)), as: UTF8.self)
        try putBack(name, text.replacing("{\"n\":\n", with: ""), in: world)
        try world.run("deliver")
        #expect(try world.acceptedIDs().count == 1)
    }

    @Test("an alternate stands for a device only if the line that did is the user's")
    func alternates() throws {
        let world = try World()
        for user in 1...2 { try world.register(token(1), of: Int64(user)) }
        try world.register(token(3), of: 3)
        world.variables["TURNSTONE_SERVER_KEY"] = World.serverKey
        let name = try setAside(world, ["users": ["1", "2", "3"], "title": "T"], "a line")
        // The line of user 1 is the damaged one, and the operator mends it.
        let text = try String(decoding: #require(world.state.read(name)), as: UTF8.self)
            .replacing("{\"n\":\n", with: "")
        let first = try #require(text.split(separator: "\n").dropFirst().first)
        try world.state.write(text.replacing(first, with: "?\(first)"), to: name)
        try world.erase("3")
        let left = try String(decoding: #require(world.state.read(name)), as: UTF8.self)
        try putBack(name, left.replacing("?", with: ""), in: world)
        try world.run("deliver")
        #expect(try world.acceptedIDs().count == 1)
    }

    @Test("what a release was to bring and nobody can read is removed", arguments: [false, true])
    func releasedAndUnreadable(hasFirstLine: Bool) throws {
        let world = try begin(["zebra-4711", "ben"])
        try world.change("zebra-4711") {
            $0.preferences.mutedUntil = Timestamp(milliseconds: world.now) + .minutes(60)
        }
        _ = try world.sent(["users": ["zebra-4711"], "title": "Private"])
        try world.run("deliver")
        let name = try #require(world.spooled().first)
        let text = try String(decoding: #require(world.state.read(name)), as: UTF8.self)
        try world.state.remove(name)
        let file = try #require(name.split(separator: "/").last)
        let release = "0a9c8f24-1111-4222-8333-123456789012"
        try world.state.write(
            hasFirstLine ? String(text.dropLast(3)) : "x\(text)",
            to: "spool/apns/held/released/\(release)/\(file)")
        try world.erase("zebra-4711")
        try world.run("deliver")
        try expectGone("zebra-4711", token(1), from: world)
    }

    @Test("a file that was never accepted and only speaks of the user stays and counts as nobody's")
    func unaccepted() throws {
        let world = try begin(["zebra-4711", "ben"])
        _ = try world.sent([
            "users": ["ben"], "title": "T", "data": ["from": "zebra-4711"],
        ])
        let name = try #require(world.spooled().first)
        let bytes = try #require(world.state.read(name))
        try world.state.remove(name)
        try world.state.write(bytes, to: "\(name).new")
        var times = [timeval(), timeval()]
        times[0].tv_sec = time(nil) - 90
        times[1].tv_sec = time(nil) - 90
        try #require(utimes("\(world.state.path)/\(name).new", times) == 0)
        let event = world.message("DELETE", "/api/users/zebra-4711")
        let answer = try Answer(event: world.startBackend("users", event).end().stdout)
        #expect(answer.json?.object?["erased"]?.object?["pushes"] ?? 0 == 0, "\(answer.body)")
        #expect(world.state.read("\(name).new") == bytes)
    }

    /// Moves a repaired file to where a drainer finds it.
    private func putBack(_ name: String, _ text: String, in world: World) throws {
        try world.state.remove(name)
        let file = try #require(name.split(separator: "/").last)
        try world.state.write(text, to: "spool/apns/ready/normal/\(file)")
    }

    private func expectGone(_ user: String, _ token: String, from world: World) throws {
        for (name, bytes) in world.state.files() {
            let text = String(decoding: bytes, as: UTF8.self)
            #expect(!text.contains(user) && !text.contains(token), "\(name): \(text)")
        }
    }

    @Test(
        "another's damaged file stays as it is",
        arguments: ["1", "a", "user", "version", "id", "device", "hello", "4711"])
    func others(id: String) throws {
        let world = try begin([id, "ben", "team-1"])
        let body: JSONObject = [
            "users": ["ben", "team-1"], "title": "hello 1 a e user id", "collapse_id": "a1",
            "data": ["user": "4711"],
        ]
        let name = try setAside(world, body, "a line")
        let before = world.state.read(name)
        let document = try #require(
            world.state.files().keys.first { $0.hasPrefix("users/") && $0.contains("/ben.json") })
        let copy = "\(document).corrupt-1"
        try world.state.write(#require(world.state.read(document)), to: copy)
        try world.erase(id)
        #expect(world.state.read(name) == before)
        #expect(world.state.read(copy) == world.state.read(document))
    }

    @Test(
        "what a failing disk does not read is counted and named",
        .enabled(if: SystemCalls.isPossible, "strace is not installed"),
        arguments: [false, true], [false, true])
    func unreadable(isPutOff: Bool, isShared: Bool) throws {
        let world = try begin(["zebra-4711", "ben"])
        if isPutOff {
            try world.simulator.perform(["do": "apns-fault", "status": 503, "count": 2])
        }
        let users: JSONValue = isShared ? ["zebra-4711", "ben"] : ["zebra-4711"]
        _ = try world.sent(["users": users, "title": "Private"])
        if isPutOff { try world.run("deliver") }
        let name = try #require(world.spooled().first { $0.hasSuffix(".jsonl") })
        let event = world.message("DELETE", "/api/users/zebra-4711")
        let ended = try Programs.start(
            at: SystemCalls.tracer,
            [
                "-f", "-qq", "-o", "/dev/null", "-P", "\(world.state.path)/\(name)", "-e",
                "trace=read", "-e", "inject=read:error=EIO", "--", "\(Programs.folder)/users",
            ], input: JSON.text(event),
            entries: world.environment.map { "\($0.key)=\($0.value)" }
        ).end()
        let answer = try Answer(event: ended.stdout)
        #expect(answer.status == 200)
        #expect(answer.json?.object?["erased"]?.object?["unreadable"] == 1, "\(answer.body)")
        // From there, health examines it.
        let named = String(decoding: world.state.read("set-aside.jsonl") ?? [], as: UTF8.self)
        #expect(named.contains(name), "\(ended.stderr)")
        try world.erase("zebra-4711")
        try expectGone("zebra-4711", token(1), from: world)
    }
}

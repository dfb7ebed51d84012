import Crypto
import JSON
import TestSupport
import Testing
import Turnstone

/// A state folder that programs of version 1 have written, with pushes in every place, in the hands of
/// today's programs.
@Suite struct FirstLayoutTests {
    private static let key = "a-key-that-version-1-has-made-of-40-letters"
    private static let player: Int64 = 1_783_478

    /// The player's first notice has an id of its own, 1; the others are messages.
    private func id(_ number: Int) -> String {
        number == 1
            ? "d92de816-6fb1-8eea-ba14-5a755c9d7ed3"
            : "7c9f2a54-1f0e-8b34-9a11-00000000000\(number)"
    }

    /// The ids by which receipts and boxes know a device.
    private func publicID(_ number: Int) -> String { digest(token(number)) }

    private func digest(_ text: String) -> String { hex(SHA256.hash(Array(text.utf8)).prefix(12)) }

    // MARK: What version 1 wrote

    private struct Writer {
        let state: TemporaryFolder

        func document(_ name: String, _ content: JSONObject) throws {
            let members: JSONObject = ["version": 1, "revision": 1]
            try state.write(JSON.text(.object(members.adding(content))), to: name)
        }

        func lines(_ name: String, _ lines: [JSONObject], then rest: String = "") throws {
            let text = lines.map { JSON.text(.object($0)) + [UInt8(ascii: "\n")] }.joined()
            try state.write(Array(text) + Array(rest.utf8), to: name)
        }
    }

    private func user(_ devices: Int...) -> JSONObject {
        let devices = devices.map { number -> JSONValue in
            ["token": .string(token(number)), "registered_at": 1_795_258_800_000]
        }
        return ["devices": .array(devices), "ledger": [], "notices": 0]
    }

    /// A notification. A message's title is its number.
    private func notification(_ number: Int, _ more: JSONObject) -> JSONObject {
        let isNotice = more["notice"] != nil
        var aps: JSONObject = [
            "alert": ["title": .string(isNotice ? "Your turn in Go!" : "\(number)")]
        ]
        if isNotice { aps["badge"] = 1 }
        let members: JSONObject = [
            "version": 1, "id": .string(id(number)), "accepted_at": 1_795_262_300_000,
            "expires_at": 1_795_348_800_000,
            "push": [
                "push_type": "alert", "priority": 10,
                "payload": ["aps": .object(aps)],
            ],
        ]
        return members.adding(more)
    }

    private func recipient(_ n: Int64, _ number: Int, _ more: JSONObject = [:]) -> JSONObject {
        let members: JSONObject = ["n": .integer(n), "device": .string(token(number))]
        return members.adding(more)
    }

    private func receipt(
        _ number: Int, _ n: Int64, _ user: String, _ device: Int, _ more: JSONObject
    ) -> JSONObject {
        let members: JSONObject = [
            "id": .string(id(number)), "n": .integer(n), "user": .string(user),
            "device": .string(String(token(device).prefix(8))),
            "device_id": .string(publicID(device)), "at": 1_795_262_310_000,
        ]
        return members.adding(more)
    }

    private func sending(_ number: Int, to last: Int64) -> JSONObject {
        [
            "id": .string(id(number)), "at": 1_795_262_310_000, "from": 0,
            "to": .integer(last),
        ]
    }

    /// A world with such a folder.
    private func world() throws -> World {
        let world = try World()
        let writer = Writer(state: world.state)
        try world.state.write(#"{"version":1}"#, to: "version.json")
        try writeUsers(writer)
        try writeQueue(writer)
        try writeReceipts(writer)
        try world.beginGame(
            101, ["white": .integer(Self.player), "moves": 37, "to_move": .integer(Self.player)])
        return world
    }

    private let turn: JSONObject = [
        "game": 101, "phase": "play", "moves": 37, "last_move": 1_795_262_200_000, "notice": 1,
    ]

    private func writeUsers(_ writer: Writer) throws {
        let player = "\(Self.player)"
        let key = hex(SHA256.hash(Array(Self.key.utf8)))
        try writer.document(
            "users/eb/\(player).json",
            user(1, 2).adding([
                "keys": [.string(key)], "ledger": [.object(turn.adding(["queued": true]))],
                "notices": 1,
            ]))
        try writer.document("users/81/bob.json", user(4))
        let mute: JSONObject = [
            "preferences": ["kinds": [:], "muted_until": 1_795_264_200_000, "revision": 1]
        ]
        try writer.document("users/49/ann.json", user(3).adding(mute))
        for (number, user) in [(1, player), (2, player), (3, "ann"), (4, "bob")] {
            let name = hex(SHA256.hash(Array(token(number).utf8)))
            try writer.document(
                "tokens/\(name.prefix(2))/\(name).json", ["users": [.string(user)]])
        }
        try writer.document(
            "keys/\(key.prefix(2))/\(key).json",
            [
                "owner": .string(player), "description": "iPhone",
                "created_at": 1_795_258_800_000,
            ])
    }

    private func writeQueue(_ writer: Writer) throws {
        // A notice that one of two phones has, to which a drainer was just sending.
        try writer.lines(
            "spool/ready/normal/\(id(1)).jsonl",
            [
                notification(
                    1, ["user": .string("\(Self.player)"), "notice": 1, "turns": [.object(turn)]]),
                recipient(0, 1), recipient(1, 2),
            ])
        // A message to two users, one of whom has it.
        try write(
            2, [:], "ready/normal",
            [
                recipient(0, 1, ["user": .string("\(Self.player)")]),
                recipient(1, 4, ["user": "bob"]),
            ], writer)
        // A message for later.
        try write(
            3, ["user": "bob", "not_before": 1_795_263_000_000], "waiting/1795263000000",
            [recipient(0, 4)], writer)
        // Messages that APNs was too busy for, one of which is due; the other was cancelled.
        let again: JSONObject = ["user": "bob", "pass": 2, "outcomes": [:]]
        try write(
            4, again, "waiting/1795262399000-1795262340000",
            [recipient(0, 4, ["brief_failures": 1])], writer)
        try write(
            5, again, "waiting/1795262700000-1795262340000",
            [recipient(0, 4, ["brief_failures": 1])], writer)
        try writer.lines("spool/cancelled/\(id(5))", [])
        // A message that waits for the end of a mute.
        let box = "\(digest("ann"))-\(digest(publicID(3)))"
        try write(
            6, ["user": "ann"], "held/1795264200000-1795262340000/\(box)", [recipient(0, 3)],
            writer)
        try writer.lines("spool/drainer.lock", [])
        try writer.lines(
            "spool/checkpoint.json", [["version": 1, "day": "2026-11-21", "offset": 0]])
    }

    /// A message, with its record.
    private func write(
        _ number: Int, _ more: JSONObject, _ place: String, _ recipients: [JSONObject],
        _ writer: Writer
    ) throws {
        let kind: JSONObject = ["kind": "message", "order": .integer(Int64(number))]
        try writer.lines(
            "spool/\(place)/\(id(number)).jsonl",
            [notification(number, kind.adding(more))] + recipients)
        var record: JSONObject = [
            "accepted_at": 1_795_262_300_000, "kind": "message",
            "devices": .integer(Int64(recipients.count)), "place": "ready/normal",
            "receipts": ["day": "2026-11-21", "offset": 0],
        ]
        record["send_after"] = more["not_before"]
        if record["send_after"] != nil { record["place"] = .string(place) }
        try writer.document("messages/2026-11-21/\(id(number)).json", record)
    }

    private func writeReceipts(_ writer: Writer) throws {
        let accepted: JSONObject = ["apns_id": "a", "status": 200, "outcome": "accepted"]
        let busy: JSONObject = ["apns_id": "b", "status": 429, "reason": "TooManyRequests"]
        let player = "\(Self.player)"
        try writer.lines(
            "receipts/2026-11-21.jsonl",
            [
                sending(1, to: 1), receipt(1, 0, player, 1, accepted),
                sending(2, to: 0), receipt(2, 0, player, 1, accepted),
                sending(4, to: 0), receipt(4, 0, "bob", 4, busy),
                ["id": .string(id(4)), "pass": 1, "until": 1_795_262_399_000],
                sending(5, to: 0), receipt(5, 0, "bob", 4, busy),
                ["id": .string(id(5)), "pass": 1, "until": 1_795_262_700_000],
                receipt(6, 0, "ann", 3, ["reason": "muted", "outcome": "held"]),
            ], then: #"{"id":"\#(id(1))","n":1,"us"#)
    }

    // MARK: What becomes of it

    /// The titles of the pushes that APNs took, by the devices' numbers.
    private func taken(_ world: World) throws -> [Int: [String]] {
        var taken: [Int: [String]] = [:]
        for push in try world.simulator.pushes() where push["accepted"] == true {
            let title = push["payload"]?.object?["aps"]?.object?["alert"]?.object?["title"]
            let number = (1...4).first { token($0) == push["token"]?.string } ?? 0
            taken[number, default: []].append(title?.string ?? "")
        }
        return taken.mapValues { $0.sorted() }
    }

    private func history(_ world: World) throws -> Answer {
        let event: JSONValue = [
            "method": "GET", "path": "/api/notifications",
            "headers": ["X-API-Key": .string(Self.key)],
        ]
        return try Answer(event: world.start("notifications", event).end().stdout)
    }

    @Test(
        "whichever program opens it first, each push goes out once and in its time",
        arguments: ["deliver", "check-turns", "notify", "notifications"])
    func migrates(first program: String) throws {
        let world = try world()
        switch program {
        case "notify": #expect(try world.report(id(2))["counts"] == ["accepted": 1, "waiting": 1])
        case "notifications": #expect(try history(world).status == 200)
        default: try world.run(program)
        }
        let layout = try JSON.parse(#require(world.state.read("version.json"))).object
        #expect(layout?["version"] == 3)

        try world.run("deliver")
        let first = try taken(world)
        #expect(first == [2: ["Your turn in Go!"], 4: ["2", "4"]], "\(first)")
        try world.advance(seconds: 600)
        try world.run("deliver")
        #expect(try taken(world)[4] == ["2", "3", "4"])
        try world.advance(seconds: 1200)
        // The turn is told already.
        try world.run("check-turns")
        for _ in 0..<2 { try world.run("deliver") }
        let all = try taken(world)
        #expect(all == [2: ["Your turn in Go!"], 3: ["6"], 4: ["2", "3", "4"]], "\(all)")

        for (number, counts) in [
            (2, ["accepted": 2]), (3, ["accepted": 1]), (4, ["accepted": 1]),
            (5, ["cancelled": 1]), (6, ["accepted": 1]),
        ] as [(Int, JSONObject)] {
            let report = try world.report(id(number))
            #expect(report["counts"] == .object(counts), "\(number)")
            #expect(report["state"] == (number == 5 ? "cancelled" : "done"), "\(number)")
        }
        let ledger = try world.document(Self.player)["ledger"]?.array?.first?.object
        #expect(ledger?["notice"] == 1 && ledger?["queued"] == nil)
        let answer = try history(world)
        #expect(answer.status == 200 && answer.body.contains(id(2)), "\(answer.body)")

        #expect(world.spooled() == [])
        let names = world.state.files().keys
        #expect(names.filter { $0.hasPrefix("spool/cancelled") } == [])
        #expect(!names.contains("receipts/2026-11-21.jsonl"))
        #expect(!names.contains("set-aside.jsonl"))
        #expect(try world.problems() == [])
    }
}

extension JSONObject {
    fileprivate func adding(_ more: JSONObject) -> JSONObject {
        var members = self
        for member in more.members { members[member.name] = member.value }
        return members
    }
}

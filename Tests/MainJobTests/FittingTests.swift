import Documents
import JSON
import Store
import TestSupport
import Testing
import Turnstone

/// Texts of all lengths in all fields: an accepted message arrives, and one that cannot arrive is refused at
/// once.
@Suite struct FittingTests {
    private static let sizes = [
        1, 2, 64, 65, 256, 257, 3900, 4000, 4040, 4096, 5000, 65_300, 65_536, 70_000, 900_000,
    ]

    @Test(
        "a message that is accepted arrives, whatever the length of a field",
        arguments: [
            "title", "subtitle", "body", "title_loc_key", "loc_key", "loc_args", "sound",
            "thread_id", "category", "target_content_id", "collapse_id", "subject", "kind", "data",
            "idempotency_key", "users", "devices", "voip",
        ])
    func messages(field: String) throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        var ids: [Int: String] = [:]
        for size in Self.sizes {
            let answer = try world.notify(body(field, String(repeating: "a", count: size)))
            if answer.status == 202 {
                ids[size] = answer.json?.object?["id"]?.string
            } else {
                #expect([400, 413, 422].contains(answer.status), "\(size): \(answer.body)")
            }
        }
        #expect(!ids.isEmpty)
        if field == "body" { #expect(ids.count == Self.sizes.count) }
        try world.run("deliver")
        for (size, id) in ids {
            let report = try world.report(id)
            let isForNobody = field == "users"
            #expect(report["state"] == "done", "\(size): \(report)")
            #expect(report["counts"] == (isForNobody ? [:] : ["accepted": 1]), "\(size)")
        }
        #expect(world.spooled().isEmpty)
    }

    private func body(_ field: String, _ text: String) -> JSONObject {
        var body: JSONObject = ["users": ["ann"], "title": "T"]
        switch field {
        case "users": body["users"] = [.string(text)]
        case "devices":
            body["users"] = nil
            body["devices"] = [.string(text)]
        case "data": body["data"] = ["text": .string(text)]
        case "loc_args":
            body["loc_key"] = "KEY"
            body["loc_args"] = [.string(text)]
        case "voip":
            body["push_type"] = "voip"
            body["body"] = .string(text)
        default: body[field] = .string(text)
        }
        return body
    }

    @Test(
        "a body is cut between two characters, if need be down to nothing",
        arguments: [
            "👨‍👩‍👧‍👦", "e\u{301}", "\u{7}", "\"", "囲",
            "x" + String(repeating: "\u{301}", count: 3000),
            "x" + String(repeating: "\u{301}", count: 100_000),
        ])
    func characters(character: String) throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        for count in [1, 300, 3000] where character.utf8.count * count < 500_000 {
            let text = String(repeating: character, count: count)
            _ = try world.sent(["users": ["ann"], "title": "T", "body": .string(text)])
            try world.run("deliver")
            let push = try #require(try world.simulator.pushes().last)
            #expect(push["accepted"] == true)
            let alert = push["payload"]?.object?["aps"]?.object?["alert"]?.object
            let shown = try #require(alert?["body"]?.string)
            #expect(shown == text || shown.hasSuffix("…"))
            #expect(shown.filter { $0 != "…" }.allSatisfy { String($0) == character })
        }
    }

    @Test("a message that adds to the badge fits with any number", arguments: [9, 99_999, 999_998])
    func badge(badge: Int64) throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        let user = try #require(UserID("ann"))
        for field in ["title", "body"] {
            var accepted = 0
            for size in 4020...4070 {
                try world.openState().users[user].update { $0.changeBadge(.set(badge)) }
                let text = JSONValue.string(String(repeating: "a", count: size))
                let answer = try world.notify(["users": ["ann"], field: text, "badge": "+1"])
                guard answer.status == 202 else {
                    #expect(answer.status == 413)
                    continue
                }
                accepted += 1
                try world.run("deliver")
                #expect(try world.simulator.pushes().last?["accepted"] == true, "\(size)")
            }
            #expect(field == "body" ? accepted == 51 : (1..<51).contains(accepted))
            #expect(world.spooled().isEmpty)
        }
        #expect(try world.receipts().allSatisfy { $0["outcome"] ?? "accepted" == "accepted" })
    }

    @Test(
        "an event that is accepted arrives, whatever the length of a value",
        arguments: ["senderName", "preview", "conversationId", "messageType"])
    func events(value: String) throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        var accepted: Int64 = 0
        for size in Self.sizes {
            var values: JSONObject = [
                "senderName": "Ann", "preview": "Hello", "conversationId": "c-9",
            ]
            values[value] = .string(String(repeating: "a", count: size))
            let answer = try world.post(event: "new_message", values, to: "ann")
            #expect([202, 413].contains(answer.status), "\(answer.body)")
            if answer.status == 202 { accepted += 1 }
        }
        try world.run("deliver")
        #expect(try world.simulator.apns()["accepted"] == .integer(accepted))
        #expect(accepted >= 6)
    }

    @Test(
        "a Live Activity's update that is accepted arrives, whatever the length of a member",
        arguments: ["contentState", "title", "body", "loc-key", "loc-args", "sound"])
    func activities(member: String) throws {
        let world = try World()
        try world.registerActivity()
        for size in Self.sizes {
            let text = JSONValue.string(String(repeating: "a", count: size))
            var alert: JSONObject = ["title": "T", "body": "B"]
            var more = JSONObject()
            switch member {
            case "contentState": break
            case "loc-key": alert["body"] = ["loc-key": text]
            case "loc-args": alert["body"] = ["loc-key": "K", "loc-args": [text]]
            case "sound": more["sound"] = text
            default: alert[member] = text
            }
            more["alert"] = .object(alert)
            let state: JSONObject = member == "contentState" ? ["text": text] : ["step": 1]
            let before = try world.acceptedIDs().count
            let answer = try world.update(state, more)
            try world.run("deliver")
            #expect(try world.acceptedIDs().count - before == (answer.status == 202 ? 1 : 0))
            #expect([202, 413].contains(answer.status), "\(size): \(answer.body)")
            // All of the request has to fit into 64 KiB.
            if member == "body", size < 65_000 { #expect(answer.status == 202) }
            try world.advance(seconds: 20)
        }
        #expect(world.spooled().isEmpty)
    }
}

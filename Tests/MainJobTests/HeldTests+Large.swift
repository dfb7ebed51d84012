import Foundation
import Spool
import TestSupport
import Testing
import Turnstone

// Releases of so many messages that they are read and removed in slices.
extension HeldTests {
    @Test(
        "a large release brings what is still wanted, also after a kill", arguments: [false, true])
    func large(isKilled: Bool) throws {
        let world = try muted()
        var ids: [String] = []
        for number in 1...90 {
            var message: JSONObject = ["users": ["ann"], "title": .string("\(number)")]
            if number <= 2 { message["collapse_id"] = "x" }
            if number == 3 { message["expires_in"] = 3000 }
            ids.append(try world.sent(message))
        }
        try world.run("deliver")
        #expect(try world.callOff(ids[3]).status == 200)
        let damaged = try #require(
            world.state.files().keys.first { $0.hasSuffix("/\(ids[4]).jsonl") })
        try world.state.write("{", to: damaged)
        if isKilled {
            let end = Timestamp(milliseconds: world.now) + .hours(1)
            let spool = Spool(state: world.state.path, .apns)
            let moments = try spool.heldMoments()
            let boxes = try spool.dueBoxes(among: moments, at: end, most: 2)
            try spool.release(
                #require(boxes.first), as: "00000000-0000-4000-8000-000000000001", among: moments)
        }
        try goOn(world)
        #expect(try payloads(world).map { $0["merged"] } == [86])
        let alert = try payloads(world).last?["aps"]?.object?["alert"]?.object
        #expect(alert?["body"] == "90\n89\n88")
        let expected = ["superseded", "accepted", "expired", "cancelled", "damaged", "accepted"]
        for (id, outcome) in zip(ids, expected) {
            #expect(try world.report(id)["counts"] == [.init(outcome): 1])
        }
        #expect(try world.report(ids[89])["counts"] == ["accepted": 1])
        let left = world.spooled().filter { !$0.hasPrefix("failed/") && !$0.contains("/failed/") }
        #expect(left.isEmpty, "\(left)")
    }

    @Test("other users' messages do not wait while the messages of a large release are read")
    func largeBesideOthers() throws {
        let world = try muted(devices: 1...4)
        let first = try send(world, ["title": "A"])
        for (path, bytes) in world.state.files()
        where path.hasSuffix("/\(first).jsonl") && path.hasPrefix("spool/apns/held/") {
            let text = String(decoding: bytes, as: UTF8.self)
            for _ in 1..<1500 {
                let id = UUID().uuidString.lowercased()
                try world.state.write(
                    text.replacingOccurrences(of: first, with: id),
                    to: path.replacingOccurrences(of: first, with: id))
            }
        }
        try world.advance(seconds: 3600)
        for number in 5...9 {
            try world.give("user\(number)", devices: number...number)
            _ = try world.sent(["users": [.string("user\(number)")], "title": "Hello"])
        }
        for _ in 0..<2 { try world.run("deliver") }
        #expect(
            try titles(world) == Array(repeating: "Hello", count: 5)
                + Array(repeating: "1500 new notifications", count: 4))
        #expect(isEmpty(world))
    }
}

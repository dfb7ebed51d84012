import Foundation
import JSON
import TestSupport
import Testing
import Turnstone

/// A damaged file that somebody repairs and puts back.
@Suite struct RepairedFileTests {
    /// A message to three devices of ann's, two of which have got it.
    private struct Stage {
        let world: World
        let id: String
        /// The file as it was before the first push.
        let whole: [UInt8]

        init() throws {
            world = try World()
            try world.give("ann", devices: 1...3)
            id = try world.sent(["users": ["ann"], "title": "Hello", "expires_in": 86_400])
            whole = try #require(world.state.read("spool/apns/ready/normal/\(id).jsonl"))
            try world.simulator.perform(["do": "apns-fault", "status": 503, "count": 1])
            try world.run("deliver")
            #expect(try world.acceptedIDs().count == 2)
        }

        /// Damages what waits for the third device, and lets a drainer find that.
        func damage() throws {
            try world.state.write(
                "{", to: #require(world.spooled().first { $0.contains("/waiting/") }))
            try world.advance(seconds: 2_000)
            try world.run("deliver")
        }

        /// Puts a file back in the place of the damaged one.
        func putBack(_ bytes: [UInt8]) throws {
            for name in world.spooled() where name.contains(id) { try world.state.remove(name) }
            try world.state.write(bytes, to: "spool/apns/ready/normal/\(id).jsonl")
            try world.run("deliver")
        }

        /// The notes on notifications that were set aside.
        var notes: [String] { world.state.files().keys.filter { $0.contains("/repairs/") } }

        /// Puts a link in the place of a folder of the queue.
        func replace(_ folder: String, byLinkTo target: String) throws {
            let path = "\(world.state.path)/spool/apns/\(folder)"
            if FileManager.default.fileExists(atPath: path) {
                try FileManager.default.moveItem(atPath: path, toPath: "\(path)-away")
            }
            try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: target)
        }

        /// - Parameter others: how many pushes there are of other messages.
        func expectEachOnce(besides others: Int = 0) throws {
            let pushes = try world.acceptedIDs()
            #expect(pushes.count == 3 + others)
            #expect(Set(pushes).count == pushes.count)
            #expect(try world.report(id)["counts"] == ["accepted": 3])
        }
    }

    @Test(
        "the file of the first pass tells nobody twice", arguments: ["waiting", "backlog", "bulk"])
    func firstPass(lane: String) throws {
        let stage = try Stage()
        if lane == "waiting" {
            try stage.damage()
        } else {
            // A drainer has moved it there, and was killed.
            try stage.world.advance(seconds: 2_000)
            try stage.world.state.remove(
                #require(stage.world.spooled().first { $0.contains("/waiting/") }))
            try stage.world.state.write("{", to: "spool/apns/ready/\(lane)/\(stage.id).jsonl")
            try stage.world.run("deliver")
        }
        #expect(stage.notes.count == 1)
        try stage.putBack(stage.whole)
        try stage.expectEachOnce()
        #expect(stage.notes.isEmpty)
    }

    @Test("also while nobody can look into `repairs`", arguments: ["/not/there", "repairs"])
    func closedNotes(target: String) throws {
        let stage = try Stage()
        try stage.damage()
        try stage.replace("repairs", byLinkTo: target)
        try stage.putBack(stage.whole)
        try stage.expectEachOnce()
        #expect(try stage.world.problems().contains("files unusable"))
    }

    @Test(
        "where nothing can be noted, the damaged file stays, is told of once, and others are sent",
        arguments: ["/not/there", "repairs"])
    func noNotes(target: String) throws {
        let stage = try Stage()
        let world = stage.world
        try stage.replace("repairs", byLinkTo: target)
        try world.give("ben", devices: 4...4)
        let other = try world.sent(["users": ["ben"], "title": "Hello"])
        try stage.damage()
        #expect(try world.report(other)["counts"] == ["accepted": 1])
        #expect(world.spooled().contains { $0.contains("/waiting/") && $0.contains(stage.id) })
        for _ in 0..<3 { try world.run("deliver") }
        #expect(try world.receipts().filter { $0["outcome"] == "damaged" }.count == 1)
        try stage.putBack(stage.whole)
        try stage.expectEachOnce(besides: 1)
    }

    @Test("a second damage that cannot be set aside keeps what is noted of the first one")
    func secondDamage() throws {
        let stage = try Stage()
        try stage.damage()
        try stage.replace("failed", byLinkTo: "/not/there")
        try stage.putBack([UInt8(ascii: "{")])
        #expect(stage.notes.count == 1)
        try stage.putBack(stage.whole)
        try stage.expectEachOnce()
        #expect(stage.notes.isEmpty)
    }

    @Test("what is noted goes with the receipts")
    func oldNotes() throws {
        let stage = try Stage()
        try stage.damage()
        #expect(stage.notes.count == 1)
        try stage.world.advance(seconds: 29 * 86_400)
        try stage.world.run("deliver")
        #expect(stage.notes.count == 1)
        try stage.world.advance(seconds: 3 * 86_400)
        try stage.world.run("deliver")
        #expect(stage.notes.isEmpty)
    }

    @Test("a request does not come after its clear")
    func cleared() throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        let values: JSONObject = ["requestId": "r-1", "toolName": "Bash", "action": "npm test"]
        _ = try world.post(event: "approval_request", values, to: "ann")
        let name = try #require(world.spooled().first)
        let whole = try #require(world.state.read(name))
        try world.state.write(Array(whole.dropLast(2)), to: name)
        _ = try world.post(event: "approval_cleared", ["requestId": "r-1"], to: "ann")
        try world.run("deliver")
        try world.state.remove(#require(world.spooled().first { $0.contains("/failed/") }))
        try world.state.write(whole, to: name)
        try world.run("deliver")
        #expect(try world.acceptedIDs().count == 1)
        #expect(world.spooled().isEmpty)
        #expect(!world.state.files().keys.contains { $0.contains("/series/") })
    }

    @Test("DELETE calls off what is only a link to nothing", arguments: ["/not/there", "self"])
    func linkCalledOff(target: String) throws {
        let stage = try Stage()
        let world = stage.world
        let name = try #require(world.spooled().first { $0.contains("/waiting/") })
        try world.state.remove(name)
        let file = "\(stage.id).jsonl"
        try FileManager.default.createSymbolicLink(
            atPath: "\(world.state.path)/\(name)",
            withDestinationPath: target == "self" ? file : target)
        try world.advance(seconds: 2_000)
        try world.run("deliver")
        #expect(try world.callOff(stage.id).status == 200)
        try FileManager.default.removeItem(atPath: "\(world.state.path)/spool/apns/failed/\(file)")
        try world.state.write(stage.whole, to: "spool/apns/ready/normal/\(file)")
        try world.run("deliver")
        #expect(try world.acceptedIDs().count == 2)
        #expect(try world.report(stage.id)["counts"] == ["accepted": 2, "cancelled": 1])
    }

    @Test(
        "DELETE does not call off what may have arrived and is damaged", arguments: [false, true],
        [false, true])
    func calledOff(mayHaveArrived: Bool, isEmptied: Bool) throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        try world.simulator.perform(
            mayHaveArrived
                ? ["do": "apns-fault", "kind": "drop", "accepted": true, "count": 1]
                : ["do": "apns-fault", "status": 503, "count": 1])
        let id = try world.sent(["users": ["ann"], "title": "Hello", "expires_in": 86_400])
        try world.run("deliver")
        let name = try #require(world.spooled().first { $0.contains(id) })
        let whole = try #require(world.state.read(name))
        try world.state.write(isEmptied ? [] : Array(whole.dropLast(2)), to: name)
        try world.advance(seconds: 2_000)
        let before = try world.simulator.pushes().count
        #expect(try world.callOff(id).status == (mayHaveArrived ? 202 : 200))
        try world.state.remove(#require(world.spooled().first { $0.contains("/failed/") }))
        try world.state.write(whole, to: "spool/apns/ready/normal/\(id).jsonl")
        try world.run("deliver")
        #expect(try world.simulator.pushes().count == before + (mayHaveArrived ? 1 : 0))
        #expect(try Set(world.simulator.pushes().compactMap { $0["apns_id"]?.string }).count == 1)
    }
}

import Foundation
import JSON
import TestSupport
import Testing
import Turnstone

@testable import Spool

// Boxes that are due before their time, because their users' preferences have changed.
extension HeldTests {
    @Test("a box whose user still wants nothing waits again without being read")
    func unread() throws {
        let world = try muted()
        let ids = try ["A", "B", "C"].map { try send(world, ["title": .string($0)]) }
        let held = try heldFiles(world)
        try #require(held.count == 3)
        for minutes: Int64 in [120, 90, 180] {
            try muteAgain(world, minutes: minutes)
            try world.run("deliver")
        }
        // Reading it as a release would have renamed each file.
        #expect(try heldFiles(world).map(\.changed) == held.map(\.changed))
        try goOn(world, minutes: 170)
        for id in ids { #expect(try world.report(id)["counts"] == ["held": 1]) }
        try goOn(world, minutes: 11)
        #expect(try titles(world) == ["3 new notifications"])
        #expect(isEmpty(world))
    }

    @Test("a message expires in its box however often the box was due early")
    func expiresEarly() throws {
        let world = try muted()
        let short = try send(world, ["title": "Taxi", "expires_in": 600])
        let long = try send(world, ["title": "Lunch"])
        for minutes: Int64 in [120, 0, 180] {
            try muteAgain(world, minutes: minutes)
            // The drainer finds the last preferences only.
            if minutes != 0 { try world.run("deliver") }
        }
        try goOn(world, minutes: 9)
        #expect(try world.report(short)["counts"] == ["held": 1])
        try goOn(world, minutes: 2)
        #expect(try world.report(short)["counts"] == ["expired": 1])
        #expect(try world.report(long)["counts"] == ["held": 1])
        try muteAgain(world, minutes: nil)
        try goOn(world, minutes: 0)
        #expect(try titles(world) == ["Lunch"])
        #expect(isEmpty(world))
    }

    @Test("a box that is due early and late is released as one")
    func earlyAndLate() throws {
        let world = try muted()
        _ = try send(world, ["title": "A", "expires_in": 1800])
        _ = try send(world, ["title": "B"])
        try muteAgain(world, minutes: 31)
        _ = try send(world, ["title": "C"])
        try goOn(world, minutes: 29)
        #expect(try titles(world) == [])
        try muteAgain(world, minutes: nil)
        try goOn(world, minutes: 0)
        #expect(try titles(world) == ["3 new notifications"])
        #expect(isEmpty(world))
    }

    /// Changes the preferences as `PUT /api/preferences` does.
    private func muteAgain(_ world: World, minutes: Int64?) throws {
        try mute(world, minutes: minutes)
        let user = try #require(UserID("ann"))
        _ = try Spools(state: world.state.path, shards: 1)
            .lookAgain(at: [user], now: Timestamp(milliseconds: world.now))
    }

    /// The files of held messages, and when they were last renamed.
    private func heldFiles(_ world: World) throws -> [(name: String, changed: [Int])] {
        let paths = world.state.files().keys.filter {
            $0.hasPrefix("spool/apns/held/") && $0.hasSuffix(".jsonl")
        }
        return try paths.map { path in
            var status = stat()
            try #require(stat("\(world.state.path)/\(path)", &status) == 0)
            let name = String(path.suffix(42))
            return (name, [status.st_ctim.tv_sec, status.st_ctim.tv_nsec])
        }.sorted { $0.name < $1.name }
    }
}

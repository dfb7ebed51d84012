import Foundation
import Glibc
import JSON
import Store
import TestSupport
import Testing
import Turnstone

/// A held message whose receipts are lost is still there: it can be reported on, cancelled and sent.
@Suite struct LostReceiptsTests {
    enum Loss: String, CaseIterable, Sendable {
        case removed, emptied, zeroed
    }

    private func lose(_ loss: Loss, of world: World) throws {
        let names = world.state.files().keys.filter { $0.hasPrefix("receipts/") }
        try #require(!names.isEmpty)
        for name in names {
            let path = "\(world.state.path)/\(name)"
            switch loss {
            case .removed: try world.state.remove(name)
            case .emptied: try #require(truncate(path, 0) == 0)
            case .zeroed:
                let size = try #require(world.state.read(name)).count
                try world.state.write([UInt8](repeating: 0, count: size), to: name)
            }
        }
    }

    private func mute(_ world: World, minutes: Int64?) throws {
        let end = minutes.map { Timestamp(milliseconds: world.now) + .minutes($0) }
        try world.change("ann") { $0.preferences.mutedUntil = end }
    }

    /// A message that is held on two devices, or on its way from there and put off, and has no receipts.
    private func held(isReleased: Bool, _ loss: Loss) throws -> (world: World, id: String) {
        let world = try World()
        try world.give("ann", devices: 1...2)
        try mute(world, minutes: 60)
        let id = try world.sent(["users": ["ann"], "title": "Held"])
        try world.run("deliver")
        #expect(try world.report(id)["counts"] == ["held": 2])
        if isReleased {
            try world.simulator.perform(["do": "apns-fault", "status": 429, "count": 2])
            try mute(world, minutes: nil)
            try world.advance(seconds: 3600)
            try world.run("deliver")
            #expect(try world.report(id)["counts"] == ["held": 2])
        }
        try lose(loss, of: world)
        return (world, id)
    }

    @Test("it is cancelled", arguments: [false, true], Loss.allCases)
    func cancelled(isReleased: Bool, loss: Loss) throws {
        let (world, id) = try held(isReleased: isReleased, loss)
        #expect(try world.report(id)["counts"] == ["held": 2])
        let answer = try world.callOff(id)
        #expect([200, 202].contains(answer.status), "\(answer.body)")
        for _ in 0..<3 {
            try world.run("deliver")
            try world.advance(seconds: 3600)
        }
        #expect(try world.acceptedIDs().isEmpty)
        #expect(try world.report(id)["counts"] == ["cancelled": 2])
    }

    @Test("it is sent", arguments: [false, true], Loss.allCases)
    func sent(isReleased: Bool, loss: Loss) throws {
        let (world, id) = try held(isReleased: isReleased, loss)
        for _ in 0..<3 {
            try world.run("deliver")
            try world.advance(seconds: 3600)
        }
        #expect(try world.acceptedIDs().count == 2)
        #expect(try world.report(id)["counts"] == ["accepted": 2])
    }

    @Test(
        "its devices are named once, also if its release was tried since", arguments: Loss.allCases)
    func triedSince(loss: Loss) throws {
        let (world, id) = try held(isReleased: false, loss)
        try world.simulator.perform(["do": "apns-fault", "status": 429, "count": 2])
        try mute(world, minutes: nil)
        try world.advance(seconds: 3600)
        try world.run("deliver")
        let report = try world.report(id)
        #expect(report["devices"]?.array?.count == 2, "\(report)")
        for _ in 0..<3 {
            try world.run("deliver")
            try world.advance(seconds: 3600)
        }
        #expect(try world.report(id)["counts"] == ["accepted": 2])
    }

    @Test("if its receipts were set aside, it is no less there", arguments: ["GET", "DELETE"])
    func setAside(method: String) throws {
        let (world, id) = try held(isReleased: false, .emptied)
        let name = try #require(
            world.state.files().keys.first { $0.hasPrefix("receipts/") && $0.hasSuffix("jsonl") })
        let path = "\(world.state.path)/\(name)"
        try #require(unlink(path) == 0 && mkdir(path, 0o700) == 0)
        try world.give("ben", devices: 3...3)
        _ = try world.sent(["users": ["ben"], "title": "Found"])
        try world.run("deliver")
        if method == "GET" {
            #expect(try world.report(id)["state"] == "waiting")
            #expect(try world.report(id)["counts"] == ["held": 2])
        } else {
            let answer = try world.callOff(id)
            #expect([200, 202].contains(answer.status), "\(answer.body)")
            #expect(try world.report(id)["counts"] == ["cancelled": 2])
        }
    }
}

import JSON
import TestSupport
import Testing
import Turnstone

/// A notification's file that has lost its end exactly where a line ends, so that all that is left can be read.
@Suite struct CutFileTests {
    /// Who wrote the file.
    enum Writer: CaseIterable, Sendable {
        case acceptance, largeAcceptance, severalServices, anotherPass, hold, move
    }

    /// A notification in the spool, to ann, to a thousand others as well, or to player 1.
    private func notification(by writer: Writer) throws -> (world: World, id: String) {
        let world = try World.withAllServices()
        try world.give("ann", devices: 1...3)
        var users: [JSONValue] = ["ann"]
        switch writer {
        case .acceptance, .move: break
        case .largeAcceptance:
            for number in 1...10 {
                let user = "user-\(number)"
                try world.give(user, devices: (number * 100)...(number * 100 + 99))
                users.append(.string(user))
            }
        case .severalServices:
            try world.registerAllKinds(of: 1)
            users = ["1"]
        case .anotherPass:
            try world.simulator.perform(["do": "apns-fault", "status": 503, "count": 3])
        case .hold: try mute(world, minutes: 60)
        }
        let id = try world.sent(["users": .array(users), "title": "Hello"])
        switch writer {
        case .anotherPass, .hold:
            try world.run("deliver")
            try world.advance(seconds: 3700)
            if writer == .hold { try mute(world, minutes: nil) }
        case .move:
            world.variables["TURNSTONE_SHARDS"] = "2"
            try world.simulator.perform(["do": "apns-fault", "status": 503, "count": 3])
            try world.run("deliver")
            try world.advance(seconds: 3700)
        default: break
        }
        return (world, id)
    }

    private func mute(_ world: World, minutes: Int64?) throws {
        let end = minutes.map { Timestamp(milliseconds: world.now) + .minutes($0) }
        try world.change("ann") { $0.preferences.mutedUntil = end }
    }

    @Test(
        "is set aside, and the device that it has lost is not forgotten", arguments: Writer.allCases
    )
    func cut(writer: Writer) throws {
        let (world, id) = try notification(by: writer)
        let name = try #require(world.spooled().sorted().first { $0.contains(id) })
        let lines = try #require(world.state.read(name)).split(separator: UInt8(ascii: "\n"))
        let rest = lines.dropLast().joined(separator: [UInt8(ascii: "\n")])
        try world.state.write(rest + [UInt8(ascii: "\n")], to: name)
        for _ in 0..<2 { try world.run("deliver") }
        #expect(world.spooled().filter { $0.contains(id) }.allSatisfy { $0.contains("/failed/") })
        #expect(world.spooled().count { $0.contains(id) } == 1, "\(world.spooled())")
        let report = try world.report(id)
        #expect(report["counts"]?.object?["damaged"] != nil, "\(report)")
        #expect(report["state"] != "sending" && report["state"] != "waiting", "\(report)")
    }

    @Test(
        "a message that is held alone and cannot be read is reported, whatever becomes of others",
        arguments: ["", "{}\n", "{\n"])
    func held(text: String) throws {
        let (world, id) = try notification(by: .hold)
        let name = try #require(world.spooled().sorted().first { $0.contains(id) })
        try world.state.write(text, to: name)
        for _ in 0..<2 { try world.run("deliver") }
        #expect(try world.report(id)["counts"] == ["accepted": 2, "damaged": 1])
        #expect(world.spooled().map { $0.contains("/failed/") } == [true])
    }

    @Test("and the whole file is sent", arguments: Writer.allCases)
    func whole(writer: Writer) throws {
        let (world, id) = try notification(by: writer)
        for _ in 0..<2 { try world.run("deliver") }
        let report = try world.report(id)
        #expect(report["state"] == "done", "\(report)")
        #expect(report["counts"]?.object?.members.map(\.name) == ["accepted"], "\(report)")
        #expect(world.spooled().isEmpty)
    }
}

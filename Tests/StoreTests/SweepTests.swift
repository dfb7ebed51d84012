import Foundation
import Store
import TestSupport
import Testing
import Turnstone

#if canImport(Glibc)
    import Glibc
#endif

/// What nobody needs any more goes, and nothing else.
@Suite struct SweepTests {
    private let scratch: Scratch
    private let ann = UserID("ann")!
    private let time = Scratch.time

    init() throws { scratch = try Scratch() }

    /// Has every part swept, as nine hours of cycles do.
    ///
    /// - Parameter distance: between two cycles.
    private func sweep(
        after interval: Interval = .seconds(0), every distance: Int64 = 30
    ) throws -> Int {
        try (0..<1031).reduce(0) { (count, turn) in
            try count
                + scratch.state.sweep(at: time + interval + .seconds(Int64(turn) * distance))
        }
    }

    /// Makes all documents as old as that, by the file system's clock.
    private func age(days: Int) {
        for name in scratch.folder.files().keys where name.hasSuffix(".json") {
            var times = [timeval(), timeval()]
            times[0].tv_sec = Int(Foundation.time(nil)) - days * 86_400
            times[1].tv_sec = times[0].tv_sec
            _ = utimes("\(scratch.folder.path)/\(name)", &times)
        }
    }

    private func claim(_ token: String, _ kind: TokenKind = .device) throws {
        var registration = Registration(DeviceToken(token)!)
        registration.kind = kind
        _ = try scratch.state.registry.claim(registration, for: ann, at: time)
    }

    private func files(_ folder: String) -> [String] {
        scratch.folder.files().keys.filter { $0.hasPrefix("\(folder)/") }.sorted()
    }

    @Test("indices that lead to nobody go with their locks: names after a day, tokens after 61")
    func indices() throws {
        let kind = TokenKind.liveActivity(activity: "a", session: "s")
        try claim("aaaa", kind)
        try claim("bbbb")
        try claim("cccc")
        for token in ["aaaa", "bbbb"] { try scratch.state.registry.unregister(token, by: ann) }
        #expect(try sweep() == 0)
        age(days: 2)
        #expect(try sweep() == 2)
        #expect(files("activities").isEmpty && files("sessions").isEmpty)
        // A message that was sent to the token alone, and waits, must know that somebody had it.
        age(days: 60)
        #expect(try sweep() == 0)
        age(days: 62)
        #expect(try sweep() == 2)
        #expect(files("tokens").count == 2, "a document and its lock")
        #expect(try sweep() == 0)
        // And again from the start.
        try claim("aaaa", kind)
        #expect(try scratch.state.registry.users(ofSession: "s") == [ann])
        #expect(try scratch.state.registry.users(of: DeviceToken("cccc")!) == [ann])
    }

    @Test(
        "each part has its turn, however far apart the cycles are", arguments: [60, 120, 300, 3600])
    func distance(seconds: Int64) throws {
        for number in 0..<8 {
            let token = String(repeating: "\(number)", count: 8)
            try claim(token, .liveActivity(activity: "a-\(number)", session: "s-\(number)"))
            try scratch.state.registry.unregister(token, by: ann)
        }
        age(days: 62)
        #expect(try sweep(every: seconds) == 24)
    }

    @Test("what was sent to a session goes with its last listener who is erased")
    func erasedListener() throws {
        try claim("aaaa", .liveActivity(activity: "a", session: "s"))
        let name = IndexKey.session(named: "s")
        try scratch.state.sessions.update(name) { (holders) throws(Failure) in
            var feed = ActivityFeed()
            _ = feed.add(
                ["event": "update", "content-state": ["score": "3-2"]], priority: 5, at: time,
                expires: time, now: time, id: String(repeating: "n", count: 36), for: .session)
            try holders.session.note(feed, isCarrierNew: true, isOpen: { (_) in true })
        }
        let devices = try scratch.state.takeDevices(of: ann)
        _ = try scratch.state.eraseTraces(of: ann, devices) { Issue.record("\($0)") }
        #expect(try scratch.state.sessions.read(name) == Holders())
        age(days: 2)
        _ = try sweep()
        #expect(files("sessions").isEmpty)
    }

    @Test("the lock of a document that was never made goes, and that of one that is missed stays")
    func locks() throws {
        let name = "tokens/7d/\(String(repeating: "7d", count: 32)).json"
        try scratch.folder.write("", to: "\(name).lock")
        try scratch.remember(3, for: Scratch.tokenFile)
        #expect(try sweep() == 0)
        #expect(files("tokens").count == 2, "they are young")
        for file in files("tokens") {
            var times = [timeval(), timeval()]
            times[1].tv_sec = Int(Foundation.time(nil)) - 2 * 86_400
            #expect(utimes("\(scratch.folder.path)/\(file)", &times) == 0)
        }
        _ = try sweep()
        #expect(files("tokens") == ["\(Scratch.tokenFile).lock"])
    }

    @Test("a key that ended goes after 30 days, and one that works stays")
    func keys() throws {
        let player = Scratch.player
        let keys = scratch.state.keys
        let first = try keys.create(for: player, description: "", at: time)
        let second = try keys.create(for: player, description: "", at: time)
        let id = try #require(try keys.list(of: player).first?.id)
        _ = try keys.revoke(id, of: player, at: time)
        age(days: 40)
        #expect(try sweep(after: .days(29)) == 0)
        #expect(try sweep(after: .days(31)) == 1)
        #expect(try keys.list(of: player).count == 1)
        let user = try scratch.state.users.read(scratch.user)
        #expect(user?.keys.count == 1)
        let working = [first, second].filter { (try? keys.owner(of: $0, at: time)) != nil }
        #expect(working.count == 1)
    }

    @Test("whoever registers while it is swept is found")
    func meanwhile() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for _ in 0..<300 {
                    try claim("aaaa")
                    #expect(try scratch.state.registry.users(of: DeviceToken("aaaa")!) == [ann])
                    try scratch.state.registry.unregister("aaaa", by: ann)
                    age(days: 62)
                }
            }
            group.addTask { for _ in 0..<20 { _ = try sweep() } }
            try await group.waitForAll()
        }
        try claim("aaaa")
        #expect(try scratch.state.registry.users(of: DeviceToken("aaaa")!) == [ann])
    }
}

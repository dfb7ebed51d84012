import Documents
import Foundation
import Store
import TestSupport
import Testing
import Turnstone
import Unix

@Suite struct PlayerIndexTests {
    let scratch: Scratch
    let time = Scratch.time

    init() throws { scratch = try Scratch() }

    private func bind(_ numbers: Int64...) throws {
        for number in numbers {
            try scratch.state.registry.bind(
                Scratch.token, environment: nil, to: PlayerID(number: number)!, at: time)
        }
    }

    private func records() throws -> PlayerRecords { try scratch.state.playerIndex().records() }

    private func due(at time: Timestamp, every interval: Interval = .seconds(30)) throws -> [Int64]
    {
        let index = try scratch.state.playerIndex()
        return try index.locked { () throws(Failure) in
            try index.records().claim(at: time, interval: interval).map(\.player.number)
        }
    }

    @Test("a player with a device is due once per slot, by a run that is 5 s early at the most")
    func claimed() throws {
        try bind(7, 8)
        #expect(try due(at: time) == [7, 8])
        #expect(try due(at: time + .milliseconds(24_999)).isEmpty)
        #expect(try due(at: time + .seconds(25)) == [7, 8])
        #expect(try due(at: time + .milliseconds(54_999)).isEmpty)
        #expect(try due(at: time + .seconds(55)) == [7, 8])
    }

    @Test(
        "slots are counted from slots: jitter neither skips a look nor makes two",
        arguments: [
            [0, 1, -1, 2, -2, 2, -2, 0, 2, -2, -2, 2], [2, -2, 2, -2, 2, -2, 2, -2, 2, -2, 2, -2],
            [-2, 2, 2, 2, -2, -2, 1, 0, -1, 2, -2, 2], [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        ])
    func jitter(offsets: [Int64]) throws {
        try bind(7)
        for (slot, offset) in offsets.enumerated() {
            let run = time + .seconds(30 * Int64(slot) + offset)
            #expect(try due(at: run) == [7], "slot \(slot)")
            #expect(try due(at: run + .seconds(1)).isEmpty, "slot \(slot)")
            // The cycle takes long: the player's turn in it comes just before its end.
            try records().recordUnchanged(1, lookBegan: run + .seconds(29))
        }
    }

    @Test("players of a push service are looked at once the service can be reached, and not before")
    func anotherService() throws {
        let player = PlayerID(number: 9)!
        func state(_ services: String...) throws -> State {
            var variables = Variables()
            variables.offer("TURNSTONE_STATE", scratch.folder.path)
            for name in services { variables.offer(name, "x") }
            return try State(variables)
        }
        func repaired(_ state: State) throws -> Int {
            let count = try state.playerIndex().repair { Issue.record("\($0.sentence)") }
            #expect(try state.playerIndex().repair { _ in } == 0)
            return count
        }
        try bind(7)
        var browser = Registration(DeviceToken(browserToken(1), on: .web)!)
        browser.platform = .web
        _ = try scratch.state.registry.bind(browser, to: player, at: time)
        // Long ago, so that only the services have changed.
        for folder in try Files.names(in: "\(scratch.folder.path)/users") {
            try age("\(scratch.folder.path)/users/\(folder)")
        }
        #expect(try repaired(scratch.state) == 0)
        #expect(try due(at: time) == [7])
        #expect(try repaired(state("FCM_SERVICE_ACCOUNT")) == 0)
        #expect(try repaired(state("FCM_SERVICE_ACCOUNT", "VAPID_SUBJECT")) == 1)
        #expect(try due(at: time + .seconds(30)) == [7, 9])
    }

    /// Sets the time of a folder to a day ago and those of its files to an hour before.
    private func age(_ folder: String) throws {
        let names = try Files.names(in: folder).map { "\(folder)/\($0)" }
        for path in names + [folder] {
            let age = path == folder ? 86_400 : 90_000
            let time = timespec(tv_sec: Int(Timestamp.systemNow.seconds) - age, tv_nsec: 0)
            let result = [time, time].withUnsafeBufferPointer {
                utimensat(AT_FDCWD, path, $0.baseAddress, 0)
            }
            #expect(result == 0)
        }
    }

    @Test("an index that is larger than any is made again")
    func huge() throws {
        try bind(7, 8)
        let path = "\(scratch.folder.path)/players.index"
        let file = try FileDescriptor.open(path, .update)
        try file.write([0], at: 1 << 40)
        #expect(try due(at: time).sorted() == [7, 8])
        #expect(try Files.stamp(of: path)?.size ?? 0 < 1 << 20)
    }

    @Test("a timer that drifts or is moved begins a new count and loses no more than one slot")
    func drift() throws {
        try bind(7)
        for (period, looks) in [(30_100, 100), (29_900, 99), (45_000, 100), (20_000, 50)] {
            let start = time + .days(Int64(period / 100))
            var found = 0
            for run in 0..<100 {
                found += try due(at: start + .milliseconds(Int64(period * run))).count
            }
            #expect(abs(found - looks) <= 1, "every \(period) ms: \(found)")
        }
    }

    @Test("two cycles at once share the players out, and neither gives back what the other took")
    func takenOver() throws {
        try bind(7, 8)
        let index = try scratch.state.playerIndex()
        let slow = try index.records().claim(at: time, interval: .seconds(30))
        #expect(try due(at: time + .milliseconds(1)).isEmpty)
        let next = try index.records().claim(at: time + .seconds(28), interval: .seconds(30))
        #expect(slow.count == 2 && next.count == 2)
        for claim in slow {
            #expect(try !records().isHeld(claim))
            try records().release(claim)
        }
        for claim in next { #expect(try records().isHeld(claim)) }
        #expect(try due(at: time + .seconds(32)).isEmpty)
    }

    @Test("a request's look moves no slot, and one of many requests at once makes it")
    func requests() throws {
        try bind(7)
        #expect(try due(at: time) == [7])
        let records = try records()
        func claim(_ seconds: Int64) -> Bool {
            records.claim(1, at: time + .seconds(seconds), patience: .seconds(4))
        }
        #expect(!claim(3), "a cycle is looking")
        #expect(claim(15))
        #expect(!claim(18), "a request is looking")
        #expect(claim(20), "that one was killed")
        records.endRequest(1)
        #expect(claim(21))
        records.recordUnchanged(1, lookBegan: time + .seconds(15))
        #expect(try due(at: time + .seconds(30)) == [7])
    }

    @Test("of every four places two go to known players, one to new and one to failing ones")
    func places() throws {
        try bind(1, 2, 3, 4, 5, 11, 12, 21, 22, 23)
        let records = try records()
        for record in 1...5 as ClosedRange<Int64> {
            records.recordUnchanged(record, lookBegan: time - .seconds(record))
        }
        for record in 8...10 as ClosedRange<Int64> {
            records.recordUnknownPlayer(record, at: time - .minutes(record))
        }
        #expect(try due(at: time + .minutes(1)) == [11, 5, 4, 23, 12, 3, 2, 22, 1, 21])
    }

    @Test("the player who has waited longest for a look comes first")
    func order() throws {
        try bind(7, 8, 9)
        let records = try records()
        records.recordUnchanged(1, lookBegan: time + .seconds(2))
        records.recordUnchanged(2, lookBegan: time + .seconds(1))
        #expect(try due(at: time + .minutes(1)) == [9, 8, 7])
    }

    @Test("a claim on which nothing was done can be given back")
    func released() throws {
        try bind(7)
        let index = try scratch.state.playerIndex()
        let claim = try #require(try index.records().claim(at: time, interval: .seconds(30)).first)
        try index.records().release(claim)
        #expect(try due(at: time) == [7])
    }

    @Test("a clock that was set back delays nobody")
    func clockSetBack() throws {
        try bind(7)
        #expect(try due(at: time + .days(365)) == [7])
        #expect(try due(at: time) == [7])
    }

    @Test("a player whose looks fail is put off for 1 minute, doubling to an hour")
    func failures() throws {
        try bind(7)
        for minutes in [1, 2, 4, 8, 16, 32, 60, 60] as [Int64] {
            try records().recordFailure(1, at: time)
            #expect(
                try due(at: time + .minutes(minutes) - .milliseconds(1), every: .seconds(0)).isEmpty
            )
            #expect(try due(at: time + .minutes(minutes), every: .seconds(0)) == [7])
        }
        try records().recordUnchanged(1, lookBegan: time)
        #expect(try due(at: time + .seconds(1), every: .seconds(0)) == [7])
    }

    @Test("a player whom OGS does not know is put off for 1 minute, doubling to a day")
    func unknown() throws {
        try bind(7)
        var now = time
        for minutes in [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 1440, 1440] as [Int64] {
            try records().recordUnknownPlayer(1, at: now)
            let next = now + .minutes(minutes)
            #expect(try records().unknownUntil(1, at: next - .milliseconds(1)) == next)
            #expect(try due(at: next - .milliseconds(1), every: .seconds(0)).isEmpty)
            #expect(try records().unknownUntil(1, at: next) == nil)
            #expect(try due(at: next, every: .seconds(0)) == [7])
            now = next
        }
        // An outage in between makes nobody known.
        try records().recordFailure(1, at: now)
        #expect(try records().unknownUntil(1, at: now) == now + .hours(24))
        try records().recordUnchanged(1, lookBegan: now)
        #expect(try records().unknownUntil(1, at: now) == nil)
        try records().recordFailure(1, at: now)
        #expect(try records().unknownUntil(1, at: now) == nil)
    }

    @Test("a registration lets a player who was put off be looked at, the first and any later one")
    func registeredAgain() throws {
        try bind(7)
        for isGone in [false, true] {
            try records().recordUnknownPlayer(1, at: time)
            #expect(try due(at: time + .seconds(30)).isEmpty)
            if isGone {
                #expect(try scratch.state.registry.unbind(Scratch.token, from: UserID("7")!))
            }
            try bind(7)
            #expect(try due(at: time + .seconds(30)) == [7])
            try records().release(
                #require(records().claim(at: time + .days(1), interval: .seconds(1)).first))
        }
    }

    @Test("a player without a device is looked at no more, and again after the next registration")
    func unwatched() throws {
        try bind(7)
        try records().unwatch(1)
        #expect(try due(at: time).isEmpty)
        #expect(try scratch.state.registry.unbind(Scratch.token, from: UserID("7")!))
        try bind(7)
        #expect(try due(at: time) == [7])
        #expect(try records().count == 2)
    }

    @Test("what a look found is kept, an entity tag up to 56 bytes")
    func found() throws {
        try bind(7)
        let records = try records()
        #expect(records.tag(1) == nil)
        records.recordLook(1, began: time, found: 42, tag: "W/\"abc\"")
        records.recordJudgement(1, 42)
        #expect(records.looked(1) == time)
        #expect(records.found(1) == 42 && records.judged(1) == 42)
        #expect(records.tag(1) == "W/\"abc\"")
        records.recordLook(1, began: time, found: 43, tag: String(repeating: "x", count: 57))
        #expect(records.tag(1) == nil)
        records.recordLook(1, began: time, found: 44, tag: String(repeating: "x", count: 56))
        #expect(records.tag(1)?.count == 56)
    }

    @Test("a wrong hint does no harm", arguments: [nil, 0, -1, 1, 2, 3, 99, .max] as [Int64?])
    func hints(hint: Int64?) throws {
        try bind(7, 8)
        #expect(try records().record(of: PlayerID(number: 8)!, hint: hint) == 2)
        #expect(try records().record(of: PlayerID(number: 9)!, hint: hint) == nil)
    }

    @Test(
        "an index that is lost or damaged is made again from the users' documents",
        arguments: [nil, "", "TSPLAY", "{\"version\":1}", String(repeating: "\0", count: 512)])
    func rebuilt(damage: String?) throws {
        try bind(7, 8)
        try scratch.write(["version": 1, "revision": 1, "devices": []], to: "users/4b/4.json")
        try scratch.folder.write("not ours", to: "users/stray.json")
        try scratch.folder.write("not ours", to: "users/4b/readme.txt")
        if let damage {
            try scratch.folder.write(damage, to: "players.index")
        } else {
            Files.remove("\(scratch.folder.path)/players.index")
        }
        #expect(try Set(due(at: time)) == [7, 8])
    }

    @Test("a record that a crash cut is overwritten by the next")
    func cutRecord() throws {
        try bind(7)
        let whole = try #require(scratch.folder.read("players.index"))
        try scratch.folder.write(whole + [UInt8](repeating: 0x55, count: 40), to: "players.index")
        try bind(8)
        #expect(try due(at: time) == [7, 8])
        #expect(scratch.folder.read("players.index")?.count == 3 * 128)
    }
}

/// An index that is sound and lacks players all the same, as in a copy of a folder in use.
@Suite struct LackingIndexTests {
    let scratch: Scratch
    let player = PlayerID(number: 7)!
    let time = Scratch.time

    init() throws {
        scratch = try Scratch()
        for number in [7, 8] as [Int64] {
            try scratch.state.registry.bind(
                Scratch.token, environment: nil, to: PlayerID(number: number)!, at: time)
        }
    }

    private func watched() throws -> Set<Int64> {
        let index = try scratch.state.playerIndex()
        return try index.locked { () throws(Failure) in
            Set(
                try index.records().claim(at: time + .minutes(1), interval: .seconds(0)).map(
                    \.player.number))
        }
    }

    /// The possible contents of the first record, which is player 7's.
    static let losses: [(name: String, change: @Sendable (inout [UInt8]) -> Void)] = [
        ("cut off", { $0 = Array($0[..<128]) }),
        ("another player's", { $0[128] = 9 }),
        ("empty", { for place in 128..<256 { $0[place] = 0 } }),
    ]

    private func lose(_ number: Int) throws {
        var bytes = try #require(scratch.folder.read("players.index"))
        Self.losses[number].change(&bytes)
        let file = try FileDescriptor.open("\(scratch.folder.path)/players.index", .update)
        try file.truncate(to: 0)
        try file.write(bytes, at: 0)
    }

    private func repair() throws -> Int {
        try scratch.state.playerIndex().repair { Issue.record("\($0.sentence)") }
    }

    @Test("the next registration of a known device repairs it", arguments: losses.indices)
    func registration(number: Int) throws {
        try lose(number)
        #expect(try !watched().contains(7))
        try scratch.state.registry.bind(
            Scratch.token, environment: nil, to: player, at: time + .minutes(1))
        #expect(try watched().contains(7))
    }

    @Test("the next cycle repairs it, once", arguments: losses.indices)
    func cycle(number: Int) throws {
        #expect(try repair() == 0)
        try lose(number)
        #expect(try repair() == (number == 0 ? 2 : 1))
        #expect(try watched().isSuperset(of: [7, 8]))
        #expect(try repair() == 0)
    }

    @Test("one player can be repaired alone")
    func one() throws {
        try lose(1)
        #expect(try scratch.state.registry.repair(player))
        #expect(try watched().contains(7))
        #expect(try !scratch.state.registry.repair(player))
        #expect(try !scratch.state.registry.repair(PlayerID(number: 99)!))
    }

    @Test("a player who is not watched, and whose document has a device since, is found")
    func unwatched() throws {
        #expect(try repair() == 0)
        try scratch.state.playerIndex().records().unwatch(1)
        try scratch.state.users[player].update { $0.changeBadge(.set(1)) }
        #expect(try repair() == 1)
        #expect(try watched() == [7, 8])
    }

    @Test("players without a device are read once, and not looked at")
    func withoutDevice() throws {
        try scratch.write(["version": 1, "revision": 1, "devices": []], to: "users/4b/4.json")
        #expect(try repair() == 0)
        #expect(try watched() == [7, 8])
        #expect(try scratch.state.playerIndex().records().count == 4)
        #expect(try repair() == 0)
        #expect(try scratch.state.playerIndex().records().count == 4)
    }
}

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

    private func looking<Result>(_ body: (PlayerRecords) throws -> Result) throws -> Result {
        try scratch.looking { try body($0.records) }
    }

    /// Changes a player's record, as a cycle does.
    @discardableResult
    private func change<Result>(
        _ number: Int64, _ body: (PlayerRecords, Int64) throws -> Result
    ) throws -> Result {
        try looking { records in
            try body(records, #require(records.record(of: PlayerID(number: number)!)))
        }
    }

    private func due(
        at time: Timestamp, every interval: Interval = .seconds(30), as state: State? = nil
    ) throws -> [Int64] {
        try scratch.looking(as: state) {
            $0.records.claim(at: time, interval: interval).map(\.player.number)
        }
    }

    @Test("a player with a device is due once per slot, by a run that is 5 s early at the most")
    func claimed() throws {
        try bind(7, 8)
        #expect(try due(at: time).sorted() == [7, 8])
        #expect(try due(at: time + .milliseconds(24_999)).isEmpty)
        #expect(try due(at: time + .seconds(25)).sorted() == [7, 8])
        #expect(try due(at: time + .milliseconds(54_999)).isEmpty)
        #expect(try due(at: time + .seconds(55)).sorted() == [7, 8])
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
            try change(7) { $0.recordUnchanged($1, lookBegan: run + .seconds(29)) }
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
            let index = try #require(try state.playerIndex())
            defer { index.end() }
            let count = try index.update { Issue.record("\($0.sentence)") }
            #expect(try index.update { _ in } == 0)
            try index.flush()
            return count
        }
        try bind(7)
        var browser = Registration(DeviceToken(browserToken(1), on: .web)!)
        browser.platform = .web
        _ = try scratch.state.registry.bind(browser, to: player, at: time)
        // Long ago, so that only the services have changed.
        for shelf in ["users", "watch"] {
            for folder in try Files.names(in: "\(scratch.folder.path)/\(shelf)") {
                try age("\(scratch.folder.path)/\(shelf)/\(folder)")
            }
        }
        #expect(try repaired(scratch.state) == 0)
        #expect(try due(at: time) == [7])
        #expect(try repaired(state("FCM_SERVICE_ACCOUNT")) == 0)
        #expect(try repaired(state("FCM_SERVICE_ACCOUNT", "VAPID_SUBJECT")) == 1)
        #expect(try due(at: time + .seconds(30), as: state("VAPID_SUBJECT")).sorted() == [7, 9])
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
        #expect(try due(at: time).sorted() == [7, 8])
        let path = "\(scratch.folder.path)/watch/index"
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

    @Test("only one process looks at a time, and the next knows what it did")
    func elected() throws {
        try bind(7, 8)
        let index = try #require(try scratch.state.playerIndex())
        _ = try index.update { _ in }
        #expect(index.records.claim(at: time, interval: .seconds(30)).count == 2)
        #expect(try scratch.state.playerIndex(patience: .milliseconds(20)) == nil)
        try index.flush()
        index.end()
        #expect(try due(at: time + .milliseconds(1)).isEmpty)
    }

    @Test("a looker that stood still while another was elected writes nothing more")
    func fenced() throws {
        try bind(7)
        let slow = try #require(try scratch.state.playerIndex())
        _ = try slow.update { _ in }
        let claims = slow.records.claim(at: time + .days(1), interval: .seconds(30))
        #expect(claims.count == 1)
        // As a shared file system does that has given up on the host.
        slow.end()
        #expect(try due(at: time) == [7])
        #expect(cause { try slow.checkTerm() } == "replaced")
        #expect(cause { try slow.flush() } == "replaced")
        #expect(try due(at: time + .seconds(1)).isEmpty)
    }

    @Test("of every four places two go to known players, one to new and one to failing ones")
    func places() throws {
        try bind(1, 2, 3, 4, 5, 11, 12, 21, 22, 23)
        for player in 1...5 as ClosedRange<Int64> {
            try change(player) { $0.recordUnchanged($1, lookBegan: time - .seconds(player)) }
        }
        for player in 21...23 as ClosedRange<Int64> {
            try change(player) { $0.recordUnknownPlayer($1, at: time - .minutes(player)) }
        }
        let order = try due(at: time + .minutes(1))
        #expect(Set([order[0], order[4]]) == [11, 12])
        #expect(
            order.filter { $0 != 11 && $0 != 12 } == [5, 4, 23, 3, 2, 22, 1, 21])
    }

    @Test("the player who has waited longest for a look comes first")
    func order() throws {
        try bind(7, 8, 9)
        try change(7) { $0.recordUnchanged($1, lookBegan: time + .seconds(2)) }
        try change(8) { $0.recordUnchanged($1, lookBegan: time + .seconds(1)) }
        #expect(try due(at: time + .minutes(1)) == [9, 8, 7])
    }

    @Test("a claim on which nothing was done can be given back")
    func released() throws {
        try bind(7)
        try looking { $0.release(try #require($0.claim(at: time, interval: .seconds(30)).first)) }
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
            try change(7) { $0.recordFailure($1, at: time) }
            #expect(
                try due(at: time + .minutes(minutes) - .milliseconds(1), every: .seconds(0)).isEmpty
            )
            #expect(try due(at: time + .minutes(minutes), every: .seconds(0)) == [7])
        }
        try change(7) { $0.recordUnchanged($1, lookBegan: time) }
        #expect(try due(at: time + .seconds(1), every: .seconds(0)) == [7])
    }

    @Test("a player whom OGS does not know is put off for 1 minute, doubling to a day")
    func unknown() throws {
        try bind(7)
        var now = time
        for minutes in [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 1440, 1440] as [Int64] {
            let next = now + .minutes(minutes)
            try change(7) { records, record in
                records.recordUnknownPlayer(record, at: now)
                #expect(records.isUnknown(record) && records.unknown(record).until == next)
            }
            #expect(try due(at: next - .milliseconds(1), every: .seconds(0)).isEmpty)
            #expect(try due(at: next, every: .seconds(0)) == [7])
            now = next
        }
        // An outage in between makes nobody known.
        try change(7) { records, record in
            records.recordFailure(record, at: now)
            #expect(records.unknown(record).until == now + .hours(24))
            records.recordUnchanged(record, lookBegan: now)
            #expect(!records.isUnknown(record))
            records.recordFailure(record, at: now)
            #expect(!records.isUnknown(record))
        }
    }

    @Test("a registration lets a player who was put off be looked at, the first and any later one")
    func registeredAgain() throws {
        try bind(7)
        for isGone in [false, true] {
            try change(7) { $0.recordUnknownPlayer($1, at: time) }
            #expect(try due(at: time + .seconds(30)).isEmpty)
            if isGone {
                #expect(try scratch.state.registry.unbind(Scratch.token, from: UserID("7")!))
            }
            try bind(7)
            #expect(try due(at: time + .seconds(30)) == [7])
            try looking {
                $0.release(try #require($0.claim(at: time + .days(1), interval: .seconds(1)).first))
            }
        }
        #expect(try Files.names(in: "\(scratch.folder.path)/watch/again").isEmpty)
    }

    @Test("a player without a device is looked at no more, and again after the next registration")
    func unwatched() throws {
        try bind(7)
        let player = PlayerID(number: 7)!
        #expect(try scratch.state.registry.unbind(Scratch.token, from: UserID("7")!))
        try scratch.looking {
            $0.unwatch(player, try #require($0.records.record(of: player)))
        }
        #expect(try !scratch.state.marks.contains(player))
        #expect(try due(at: time).isEmpty)
        try bind(7)
        #expect(try due(at: time) == [7])
        #expect(try looking { $0.count } == 2)
    }

    @Test("what a look found is kept, an entity tag up to 56 bytes")
    func found() throws {
        try bind(7)
        try change(7) { records, record in
            #expect(records.tag(record) == nil)
            records.recordLook(record, began: time, found: 42, tag: "W/\"abc\"")
            records.recordJudgement(record, 42)
        }
        try change(7) { records, record in
            #expect(records.looked(record) == time)
            #expect(records.found(record) == 42 && records.judged(record) == 42)
            #expect(records.tag(record) == "W/\"abc\"")
            let player = PlayerID(number: 7)!
            let glimpse = try #require(scratch.state.glimpse(of: player, at: record))
            #expect(glimpse.looked == time && glimpse.found == 42 && glimpse.tag == "W/\"abc\"")
            for place in [nil, 0, -1, 2, 99, .max] as [Int64?] {
                #expect(scratch.state.glimpse(of: player, at: place) == nil)
            }
            #expect(scratch.state.glimpse(of: PlayerID(number: 8)!, at: record) == nil)
            records.recordLook(
                record, began: time, found: 43, tag: String(repeating: "x", count: 57))
            #expect(records.tag(record) == nil)
            records.recordLook(
                record, began: time, found: 44, tag: String(repeating: "x", count: 56))
            #expect(records.tag(record)?.count == 56)
        }
    }

    @Test("judgements and failures are forgotten for who asks, and nobody else")
    func asked() throws {
        try bind(7, 8)
        for number in [7, 8] as [Int64] {
            try change(number) { records, record in
                records.recordLook(record, began: time, found: 42, tag: nil)
                records.recordJudgement(record, 42)
            }
        }
        try scratch.state.forgetJudgement(of: PlayerID(number: 7)!)
        try scratch.state.forgetJudgement(of: PlayerID(number: 9)!)
        #expect(try change(7) { $0.judged($1) } == 0)
        #expect(try change(8) { $0.judged($1) } == 42)
        #expect(try Files.names(in: "\(scratch.folder.path)/watch/again").isEmpty)
    }

    @Test(
        "an index that is lost or damaged is made again from the marks",
        arguments: [nil, "", "TSWATC", "{\"version\":1}", String(repeating: "\0", count: 9000)])
    func rebuilt(damage: String?) throws {
        try bind(7, 8)
        #expect(try due(at: time).count == 2)
        try scratch.write(["version": 1, "revision": 1, "devices": []], to: "users/4b/4.json")
        try scratch.folder.write("not ours", to: "users/stray.json")
        try scratch.folder.write("not ours", to: "users/4b/readme.txt")
        try scratch.folder.write("not ours", to: "watch/4b/readme.txt")
        try scratch.folder.write("not ours", to: "watch/stray")
        if let damage {
            try scratch.folder.write(damage, to: "watch/index")
        } else {
            Files.remove("\(scratch.folder.path)/watch/index")
        }
        #expect(try Set(due(at: time)) == [7, 8])
    }

    @Test("a record that a crash cut is overwritten by the next")
    func cutRecord() throws {
        try bind(7)
        #expect(try due(at: time) == [7])
        let whole = try #require(scratch.folder.read("watch/index"))
        try scratch.folder.write(whole + [UInt8](repeating: 0x55, count: 40), to: "watch/index")
        try bind(8)
        #expect(try due(at: time) == [8])
        #expect(scratch.folder.read("watch/index")?.count == 66 * 128)
    }
}

/// An index or marks that are sound and lack players all the same, as in a copy of a folder in use.
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
        try scratch.looking {
            Set(
                $0.records.claim(at: time + .minutes(1), interval: .seconds(0)).map(
                    \.player.number))
        }
    }

    private func repair() throws -> Int {
        let index = try #require(try scratch.state.playerIndex())
        defer { index.end() }
        let count = try index.update { Issue.record("\($0.sentence)") }
        try index.flush()
        return count
    }

    /// What a folder may lack, or what may be wrong.
    static let losses: [(name: String, change: @Sendable (inout [UInt8]) -> Void)] = [
        ("cut off", { $0 = Array($0[..<(64 * 128)]) }),
        ("another player's", { $0[64 * 128] = 9 }),
        ("empty", { for place in (64 * 128)..<(65 * 128) { $0[place] = 0 } }),
        ("not watched", { $0[64 * 128 + 8] = 0 }),
        ("of no shard", { $0[64 * 128 + 120] = 0 }),
    ]

    /// Both records go wrong in one test or the other: the first is that of the lower shard.
    private func lose(_ number: Int) throws {
        var bytes = try #require(scratch.folder.read("watch/index"))
        Self.losses[number].change(&bytes)
        let file = try FileDescriptor.open("\(scratch.folder.path)/watch/index", .update)
        try file.truncate(to: 0)
        try file.write(bytes, at: 0)
    }

    @Test(
        "records that were lost are made again from the marks, whatever the folders' times say",
        arguments: losses.indices)
    func lostRecord(number: Int) throws {
        #expect(try watched() == [7, 8])
        // Old enough for the times to count.
        for folder in ["users", "watch"] {
            for shard in ["2c", "79"] { try scratch.age("\(folder)/\(shard)") }
        }
        #expect(try watched() == [7, 8])
        try lose(number)
        #expect(try watched() == [7, 8])
    }

    private func loseMark(_ number: Int64) {
        #expect(scratch.state.marks.remove(PlayerID(number: number)!))
    }

    @Test("the next registration of a known device makes a lost mark again")
    func registration() throws {
        loseMark(7)
        try scratch.state.registry.bind(
            Scratch.token, environment: nil, to: player, at: time + .minutes(1))
        #expect(try scratch.state.marks.contains(player))
        #expect(try watched() == [7, 8])
    }

    @Test("the next cycle makes a lost mark again, once")
    func cycle() throws {
        #expect(try repair() == 0)
        loseMark(7)
        #expect(try repair() == 1)
        #expect(try scratch.state.marks.contains(player))
        #expect(try watched() == [7, 8])
        #expect(try repair() == 0)
        #expect(Files.removeAll("\(scratch.folder.path)/watch"))
        #expect(try repair() == 2)
        #expect(try watched() == [7, 8])
    }

    @Test("one player can be repaired alone")
    func one() throws {
        loseMark(7)
        #expect(try scratch.state.registry.repair(player))
        #expect(try watched().contains(7))
        #expect(try !scratch.state.registry.repair(player))
        #expect(try !scratch.state.registry.repair(PlayerID(number: 99)!))
    }

    @Test("a player who is not watched, and whose document has a device since, is found")
    func unwatched() throws {
        #expect(try repair() == 0)
        try scratch.looking {
            $0.unwatch(player, try #require($0.records.record(of: player)))
        }
        try scratch.state.users[player].update { $0.badge = 1 }
        #expect(try repair() == 1)
        #expect(try watched() == [7, 8])
    }

    @Test("players without a device are read once, and not looked at")
    func withoutDevice() throws {
        try scratch.write(["version": 1, "revision": 1, "devices": []], to: "users/4b/4.json")
        #expect(try repair() == 0)
        #expect(try watched() == [7, 8])
        #expect(try scratch.looking { $0.records.count } == 4)
        #expect(try repair() == 0)
        #expect(try scratch.looking { $0.records.count } == 4)
    }

    @Test("an erased player's record is filled with zeros, and used again")
    func erased() throws {
        #expect(try watched() == [7, 8])
        var erased = try scratch.state.eraseTraces(of: UserID(player), []) {
            Issue.record("\($0.sentence)")
        }
        // The mark and the record.
        #expect(erased.files >= 2)
        _ = try scratch.state.eraseDocument(of: UserID(player))
        #expect(try watched() == [8])
        erased = try scratch.state.eraseTraces(of: UserID(player), []) { _ in }
        #expect(erased.isNothing)
        try scratch.state.registry.bind(
            Scratch.token, environment: nil, to: PlayerID(number: 9)!, at: time)
        #expect(try watched() == [8, 9])
        #expect(try scratch.looking { $0.records.count } == 3)
    }
}

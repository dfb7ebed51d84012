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

    private func mark(_ number: Int64 = 7) throws -> WatchMark {
        try #require(try scratch.state.watch.read(PlayerID(number: number)!))
    }

    /// Changes a player's mark.
    private func look(_ number: Int64 = 7, _ change: (inout WatchMark) -> Void) throws {
        try scratch.state.watch.update(PlayerID(number: number)!, change)
    }

    private func due(at time: Timestamp, every interval: Interval = .seconds(30)) throws -> [Int64]
    {
        try scratch.due(at: time, every: interval)
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
            try look { $0.recordUnchanged(lookBegan: run + .seconds(29)) }
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
            let count = try Scratch.compare(state)
            #expect(try Scratch.compare(state) == 0)
            return count
        }
        try bind(7)
        var browser = Registration(DeviceToken(browserToken(1), on: .web)!)
        browser.platform = .web
        _ = try scratch.state.registry.bind(browser, to: player, at: time)
        // Long ago, so that only the services have changed.
        for kind in ["users", "watch"] {
            for folder in try Files.names(in: "\(scratch.folder.path)/\(kind)") {
                try age("\(scratch.folder.path)/\(kind)/\(folder)")
            }
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
        _ = try due(at: time - .minutes(5))
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

    @Test("of two cycles at once one looks, and the other ends")
    func elected() throws {
        try bind(7, 8)
        let other = try PlayerIndex.electing(in: scratch.state) { (_) throws(Failure) in
            try PlayerIndex.electing(in: scratch.state) { (_) throws(Failure) in true }
        }
        #expect(other == .some(nil))
        #expect(try Set(due(at: time)) == [7, 8])
    }

    @Test("a looker that is killed looks at nobody twice, and at everybody else in the next cycle")
    func killed() throws {
        try bind(7, 8)
        try Scratch.compare(scratch.state)
        _ = try PlayerIndex.electing(in: scratch.state) { (index) throws(Failure) in
            _ = try index.compare { _ in }
            let claims = index.claim(at: time, interval: .seconds(30))
            let seven = claims.first { $0.player.number == 7 }
            // The index is not written.
            if let seven { _ = try index.begin(seven, at: time, interval: .seconds(30)) }
        }
        #expect(try due(at: time + .seconds(1)) == [8])
        #expect(try due(at: time + .seconds(30)).sorted() == [7, 8])
    }

    @Test("a request's look moves no slot, and one of many requests at once makes it")
    func requests() throws {
        try bind(7)
        #expect(try due(at: time) == [7])
        func claim(_ seconds: Int64) throws -> Bool {
            let player = PlayerID(number: 7)!
            return try scratch.state.watch.update(player) {
                $0.claimForRequest(at: time + .seconds(seconds), patience: .seconds(4))
            } ?? false
        }
        #expect(try !claim(3), "a cycle is looking")
        #expect(try claim(15))
        #expect(try !claim(18), "a request is looking")
        #expect(try claim(20), "that one was killed")
        try look { $0.endRequest() }
        #expect(try claim(21))
        try look { $0.recordUnchanged(lookBegan: time + .seconds(15)) }
        #expect(try due(at: time + .seconds(30)) == [7])
    }

    @Test("of every four places two go to known players, one to new and one to failing ones")
    func places() throws {
        try bind(1, 2, 3, 4, 5, 11, 12, 21, 22, 23)
        for number in 1...5 as ClosedRange<Int64> {
            try look(number) { $0.recordUnchanged(lookBegan: time - .seconds(number)) }
        }
        for number in 21...23 as ClosedRange<Int64> {
            try look(number) { $0.recordUnknownPlayer(at: time - .minutes(number)) }
        }
        let order = try due(at: time + .minutes(1))
        #expect(order.map { [11, 12].contains($0) ? 0 : $0 } == [0, 5, 4, 23, 0, 3, 2, 22, 1, 21])
    }

    @Test("the player who has waited longest for a look comes first")
    func order() throws {
        try bind(7, 8, 9)
        try look(7) { $0.recordUnchanged(lookBegan: time + .seconds(2)) }
        try look(8) { $0.recordUnchanged(lookBegan: time + .seconds(1)) }
        #expect(try due(at: time + .minutes(1)) == [9, 8, 7])
    }

    @Test("a claim on which nothing was done can be given back")
    func released() throws {
        try bind(7)
        for hasBegun in [false, true] {
            _ = try PlayerIndex.electing(in: scratch.state) { (index) throws(Failure) in
                _ = try index.compare { _ in }
                for claim in index.claim(at: time, interval: .seconds(30)) {
                    if hasBegun { _ = try index.begin(claim, at: time, interval: .seconds(30)) }
                    try index.release(claim, hasBegun: hasBegun)
                }
                try index.save { _ in }
            }
        }
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
            try look { $0.recordFailure(at: time) }
            #expect(
                try due(at: time + .minutes(minutes) - .milliseconds(1), every: .seconds(0)).isEmpty
            )
            #expect(try due(at: time + .minutes(minutes), every: .seconds(0)) == [7])
        }
        try look { $0.recordUnchanged(lookBegan: time) }
        #expect(try due(at: time + .seconds(1), every: .seconds(0)) == [7])
    }

    @Test("a player whom OGS does not know is put off for 1 minute, doubling to a day")
    func unknown() throws {
        try bind(7)
        var now = time
        for minutes in [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 1440, 1440] as [Int64] {
            try look { $0.recordUnknownPlayer(at: now) }
            let next = now + .minutes(minutes)
            #expect(try mark().unknownUntil(at: next - .milliseconds(1)) == next)
            #expect(try due(at: next - .milliseconds(1), every: .seconds(0)).isEmpty)
            #expect(try mark().unknownUntil(at: next) == nil)
            #expect(try due(at: next, every: .seconds(0)) == [7])
            now = next
        }
        // An outage in between makes nobody known.
        try look { $0.recordFailure(at: now) }
        #expect(try mark().unknownUntil(at: now) == now + .hours(24))
        try look { $0.recordUnchanged(lookBegan: now) }
        #expect(try mark().unknownUntil(at: now) == nil)
        try look { $0.recordFailure(at: now) }
        #expect(try mark().unknownUntil(at: now) == nil)
    }

    @Test("a registration lets a player who was put off be looked at, the first and any later one")
    func registeredAgain() throws {
        try bind(7)
        #expect(try due(at: time - .seconds(30)) == [7])
        for (isGone, now) in [(false, time), (true, time + .seconds(30))] {
            try look { $0.recordUnknownPlayer(at: now) }
            #expect(try due(at: now).isEmpty)
            if isGone {
                #expect(
                    try scratch.state.registry.unbind(
                        Scratch.token, from: UserID("7")!, at: Scratch.time))
            }
            try bind(7)
            #expect(try due(at: now) == [7])
        }
    }

    @Test("a player without a device is looked at no more, and again after the next registration")
    func unwatched() throws {
        try bind(7)
        try scratch.state.unwatch(PlayerID(number: 7)!)
        #expect(try due(at: time) == [7], "has a device")
        #expect(
            try scratch.state.registry.unbind(Scratch.token, from: UserID("7")!, at: Scratch.time))
        try scratch.state.unwatch(PlayerID(number: 7)!)
        #expect(try due(at: time + .seconds(30)).isEmpty)
        try bind(7)
        #expect(try due(at: time + .seconds(60)) == [7])
    }

    @Test("what a look found is kept, an entity tag up to 56 bytes")
    func found() throws {
        try bind(7)
        #expect(try mark().tag == nil)
        try look {
            $0.recordLook(began: time, found: 42, tag: "W/\"abc\"")
            $0.judged = 42
        }
        #expect(try mark().looked == time)
        #expect(try mark().found == 42 && mark().judged == 42)
        #expect(try mark().tag == "W/\"abc\"")
        try look { $0.recordLook(began: time, found: 43, tag: String(repeating: "x", count: 57)) }
        #expect(try mark().tag == nil)
        try look { $0.recordLook(began: time, found: 44, tag: String(repeating: "x", count: 56)) }
        #expect(try mark().tag?.count == 56)
    }

    @Test(
        "a mark that is damaged counts as new",
        arguments: [
            "x", "TSWMARK1", String(repeating: "x", count: 128), String(repeating: "x", count: 129),
        ])
    func damagedMark(text: String) throws {
        try bind(7)
        try look { $0.recordUnchanged(lookBegan: time) }
        try scratch.folder.write(text, to: "watch/79/7")
        #expect(try mark() == WatchMark())
        #expect(try due(at: time) == [7])
        try look { $0.recordUnchanged(lookBegan: time) }
        #expect(try mark().looked == time)
    }

    @Test(
        "an index that is lost or damaged is made again from the users' documents",
        arguments: [nil, "", "TSPLAY", "{\"version\":1}", String(repeating: "\0", count: 512)])
    func rebuilt(damage: String?) throws {
        try bind(7, 8)
        _ = try due(at: time - .minutes(5))
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

    @Test("an index of version 1 becomes marks, with all that it knew")
    func migrated() throws {
        try bind(7, 8, 9)
        for number in [7, 8, 9] as [Int64] {
            Files.remove("\(scratch.folder.path)/\(scratch.watchFile(number))")
        }
        try scratch.folder.write(
            Self.header + Self.record(7, slot: time, looked: time, found: 42, notBefore: 0)
                + Self.record(
                    8, slot: time, looked: time, found: 43,
                    notBefore: (time + .minutes(1)).milliseconds)
                // Not registered any more, erased, a second record, and half a one.
                + Self.record(9, watched: 0, slot: time, looked: time, found: 44, notBefore: 0)
                + Self.record(10, slot: time, looked: time, found: 45, notBefore: 0)
                + Self.record(7, slot: time, looked: time, found: 46, notBefore: 0)
                + [UInt8](repeating: 0x55, count: 40), to: "players.index")
        try scratch.folder.write("", to: "players.index.lock")
        #expect(try scratch.state.watchesSince() != nil)
        #expect(try due(at: time + .seconds(1)) == [9])
        #expect(try mark(7).found == 42 && mark(7).looked == time && mark(7).tag == "tag")
        #expect(try due(at: time + .seconds(31)).sorted() == [7, 9])
        #expect(try due(at: time + .seconds(61)).sorted() == [7, 8, 9])
        #expect(!scratch.files.contains(scratch.watchFile(10)))
        // An old program was still running, and has written the old index again.
        try scratch.folder.write(Self.header, to: "players.index")
        #expect(try due(at: time + .seconds(91)).sorted() == [7, 8, 9])
        #expect(try mark(7).found == 42)
    }

    private static let header =
        Array("TSPLAYR1".utf8) + [UInt8](repeating: 0, count: 120)

    private static func record(
        _ player: Int64, watched: Int64 = 1, slot: Timestamp, looked: Timestamp, found: Int64,
        notBefore: Int64
    ) -> [UInt8] {
        let words = [
            player, watched, slot.milliseconds, looked.milliseconds, found, found, notBefore,
            notBefore > 0 ? 1 : 0,
        ]
        return Words.bytes(of: words) + "tag".utf8 + [UInt8](repeating: 0, count: 61)
    }
}

/// Marks that are missing, as in a copy of a folder in use.
@Suite struct MissingMarkTests {
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

    private func lose() { Files.remove("\(scratch.folder.path)/\(scratch.watchFile(7))") }

    private func isWatched() throws -> Bool { try scratch.state.watch.read(player) != nil }

    @Test("the next registration of a known device makes it again")
    func registration() throws {
        lose()
        try scratch.state.registry.bind(
            Scratch.token, environment: nil, to: player, at: time + .minutes(1))
        #expect(try isWatched())
    }

    @Test("the next cycle makes it again, once", arguments: [false, true])
    func cycle(hasIndex: Bool) throws {
        if hasIndex { #expect(try Scratch.compare(scratch.state) == 0) }
        lose()
        #expect(try Scratch.compare(scratch.state) == 1)
        #expect(try isWatched())
        #expect(try Scratch.compare(scratch.state) == 0)
        #expect(try Set(scratch.due(at: time)) == [7, 8])
    }

    @Test("all of them are made again, of players with a device")
    func all() throws {
        try scratch.write(["version": 1, "revision": 1, "devices": []], to: "users/4b/4.json")
        #expect(Files.removeAll("\(scratch.folder.path)/watch"))
        #expect(try Scratch.compare(scratch.state) == 2)
        #expect(try Set(scratch.due(at: time)) == [7, 8])
        #expect(Files.removeAll("\(scratch.folder.path)/watch"))
        #expect(try Scratch.compare(scratch.state) == 2)
    }

    @Test("one player can be repaired alone")
    func one() throws {
        lose()
        #expect(try scratch.state.registry.repair(player))
        #expect(try isWatched())
        #expect(try !scratch.state.registry.repair(player))
        #expect(try !scratch.state.registry.repair(PlayerID(number: 99)!))
    }

    @Test("a player who is not looked at, and whose document has a device since, is found")
    func unwatched() throws {
        try scratch.state.users[player].update { $0.devices[0].isEnabled = false }
        try scratch.state.unwatch(player)
        #expect(try scratch.due(at: time) == [8])
        try scratch.state.users[player].update { $0.devices[0].isEnabled = true }
        #expect(try scratch.due(at: time + .seconds(30)).sorted() == [7, 8])
    }

    @Test(
        "anything in the place of a mark does no harm", arguments: [S_IFIFO, S_IFDIR, S_IFLNK])
    func obstacles(kind: mode_t) throws {
        let path = "\(scratch.folder.path)/\(scratch.watchFile(7))"
        lose()
        switch kind {
        case S_IFIFO: mkfifo(path, 0o600)
        case S_IFDIR: mkdir(path, 0o700)
        default: symlink(path, path)
        }
        try scratch.state.registry.bind(
            Scratch.token, environment: nil, to: player, at: time + .minutes(1))
        #expect(try Set(scratch.due(at: time)) == [7, 8])
    }

    @Test(
        "an erased player leaves neither mark nor number, even in an index that another process uses"
    )
    func erased() throws {
        func erase() throws {
            for user in [UserID(player)] {
                _ = try scratch.state.takeDevices(of: user)
                _ = try scratch.state.eraseTraces(of: user, [], at: Scratch.time) { _ in }
                _ = try scratch.state.eraseDocument(of: user)
            }
        }
        func isNamed() throws -> Bool {
            let bytes = try #require(scratch.folder.read("players.index"))
            return Words.all(in: bytes).contains(7)
        }
        _ = try scratch.due(at: time)
        #expect(try isNamed())
        try erase()
        #expect(try !isNamed() && !isWatched())
        #expect(try scratch.due(at: time + .seconds(30)) == [8])
        try scratch.state.registry.bind(
            Scratch.token, environment: nil, to: player, at: time + .minutes(1))
        _ = try PlayerIndex.electing(in: scratch.state) { (index) throws(Failure) in
            _ = try index.compare { _ in }
            _ = index.claim(at: time + .minutes(2), interval: .seconds(30))
            try Lock.waiting(upTo: .milliseconds(1)) { () throws(Failure) in
                _ = try scratch.state.takeDevices(of: UserID(player))
                _ = try scratch.state.eraseTraces(of: UserID(player), [], at: Scratch.time) { _ in }
                _ = try scratch.state.eraseDocument(of: UserID(player))
            }
            try index.save { _ in }
        }
        #expect(try !isNamed() && !isWatched())
    }
}

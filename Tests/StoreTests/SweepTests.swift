import Crypto
import Documents
import Foundation
import TestSupport
import Testing
import Turnstone

@testable import Store

#if canImport(Glibc)
    import Glibc
#endif

/// Unneeded files are removed, and nothing else.
@Suite struct SweepTests {
    private let scratch: Scratch
    private let ann = UserID("ann")!
    private let time = Scratch.time

    init() throws { scratch = try Scratch() }

    /// Has every part swept, as nine hours of cycles do.
    ///
    /// - Parameter distance: between two cycles.
    private func sweep(
        after interval: Interval = .seconds(0), every distance: Int64 = 30,
        reading most: Int = 20_000
    ) throws -> Int {
        try (0..<1031).reduce(0) { (count, turn) in
            try count
                + scratch.state.sweep(
                    at: time + interval + .seconds(Int64(turn) * distance), reading: most)
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

    @Test("indices without users are removed with their locks: names after a day, tokens after 61")
    func indices() throws {
        let kind = TokenKind.liveActivity(activity: "a", session: "s")
        try claim("aaaa", kind)
        try claim("bbbb")
        try claim("cccc")
        for token in ["aaaa", "bbbb"] {
            try scratch.state.registry.unregister(token, by: ann, at: Scratch.time)
        }
        #expect(try sweep() == 0)
        age(days: 2)
        #expect(try sweep() == 2)
        #expect(files("activities").isEmpty && files("sessions").isEmpty)
        // A message that was sent to the token alone, and waits, must know that somebody had it.
        age(days: 60)
        #expect(try sweep() == 0)
        age(days: 62)
        #expect(try sweep() == 2)
        #expect(files("tokens").count == 1, "a document")
        #expect(try sweep() == 0)
        // And again from the start.
        try claim("aaaa", kind)
        #expect(try scratch.state.registry.users(ofSession: "s") == [ann])
        #expect(try scratch.state.registry.users(of: DeviceToken("cccc")!) == [ann])
    }

    @Test("a run ends when its time is over, and later ones go on")
    func timeIsOver() throws {
        let count = 300
        for number in 0..<count {
            let kind = TokenKind.liveActivity(activity: "a\(number)", session: nil)
            try claim("aaaa", kind)
            try scratch.state.registry.unregister("aaaa", by: ann, at: Scratch.time)
        }
        age(days: 2)
        var rounds: [Int] = []
        while rounds.last != 0 {
            let round = try (0..<1031).reduce(0) { (sum, turn) in
                let moment = time + .seconds(Int64(rounds.count * 1031 + turn) * 30)
                let removed = try scratch.state.sweep(at: moment, within: .seconds(0))
                #expect(removed <= 1)
                return sum + removed
            }
            rounds.append(round)
        }
        #expect(rounds.count > 2 && rounds.reduce(0, +) == count)
    }

    @Test("a document whose lock a program does not let go keeps no other one", arguments: 0...1)
    func locked(place: Int) throws {
        // Two of one folder with locks of their own.
        let names = (0..<999).map { (name: "s\($0)", hash: hex(SHA256.hash("s\($0)"))) }
        let first = names[0]
        let second = try #require(
            names.first {
                $0.hash.prefix(2) == first.hash.prefix(2)
                    && $0.hash.prefix(3) != first.hash.prefix(3)
            })
        for name in [first, second] {
            try claim("aaaa", .liveActivity(activity: nil, session: name.name))
        }
        try scratch.state.registry.unregister("aaaa", by: ann, at: Scratch.time)
        age(days: 2)
        let held = [first, second][place]
        let document = "sessions/\(held.hash.prefix(2))/\(held.hash).json"
        let lock = try SharedLock.open(of: document, in: scratch.folder)
        #expect(try lock.tryLock())
        #expect(try sweep() == 1)
        #expect(files("sessions") == [document])
        lock.unlock()
        #expect(try sweep() == 1)
    }

    @Test(
        "each part has its turn, however far apart the cycles are", arguments: [60, 120, 300, 3600])
    func distance(seconds: Int64) throws {
        for number in 0..<8 {
            let token = String(repeating: "\(number)", count: 8)
            try claim(token, .liveActivity(activity: "a-\(number)", session: "s-\(number)"))
            try scratch.state.registry.unregister(token, by: ann, at: Scratch.time)
        }
        age(days: 62)
        #expect(try sweep(every: seconds) == 24)
    }

    @Test("a session's states are removed with its last listener who is erased")
    func erasedListener() throws {
        try claim("aaaa", .liveActivity(activity: "a", session: "s"))
        let name = "s"
        try scratch.state.sessions[name].update { (holders) throws(Failure) in
            var feed = ActivityFeed()
            _ = feed.add(
                ["event": "update", "content-state": ["score": "3-2"]], priority: 5, at: time,
                expires: time, now: time, id: String(repeating: "n", count: 36), for: .session)
            try holders.session.replaceFeed(
                with: feed, isCarrierNew: true, isOpen: { (_) in true })
        }
        let devices = try scratch.state.takeDevices(of: ann)
        _ = try scratch.state.eraseTraces(of: ann, devices, at: Scratch.time) {
            Issue.record("\($0)")
        }
        #expect(try scratch.state.sessions[name].read() == Holders())
        age(days: 2)
        _ = try sweep()
        #expect(files("sessions").isEmpty)
    }

    @Test("Live Activities that are over give back their names and their places, and leave nothing")
    func oldActivities() throws {
        // Those that came a day ago and those that come later take turns.
        let users = (0..<40).map { UserID("user-\($0)")! }
        func kind(_ number: Int) -> TokenKind {
            .liveActivity(activity: "a-\(number)", session: "s")
        }
        func claim(_ number: Int, after interval: Interval) throws {
            var registration = Registration(DeviceToken("\(1000 + number)")!)
            registration.kind = kind(number)
            _ = try scratch.state.registry.claim(
                registration, for: users[number], at: time + interval)
        }
        for number in 0..<40 {
            try claim(number, after: .hours(number.isMultiple(of: 2) ? 0 : 20))
        }
        // One has registered again meanwhile, and one has a phone besides.
        try claim(0, after: .hours(20))
        _ = try scratch.state.registry.claim(
            Registration(DeviceToken("eeee")!), for: users[2], at: time)
        // It takes until 32 hours after the first ones.
        _ = try sweep(after: .minutes(24 * 60 + 1))
        let left = [users[0]] + (0..<40).filter { !$0.isMultiple(of: 2) }.map { users[$0] }
        #expect(try scratch.state.registry.users(ofSession: "s") == left)
        #expect(
            try scratch.state.sessions["s"].read()?.users == left)
        for number in 0..<40 {
            let isLeft = left.contains(users[number])
            let devices = try scratch.state.users[users[number]].read()?.devices ?? []
            #expect(devices.contains { $0.kind == kind(number) } == isLeft)
            #expect(devices.contains { $0.kind == .device } == (number == 2))
            let token = DeviceToken("\(1000 + number)")!
            #expect(
                try scratch.state.tokens[token].read()?.users == (isLeft ? [users[number]] : []))
            let holders = try scratch.state.registry.devices(ofActivity: "a-\(number)")
            #expect(holders.map(\.user) == (isLeft ? [users[number]] : []))
        }
        // Another user may have the name.
        var registration = Registration(DeviceToken("ffff")!)
        registration.kind = kind(2)
        _ = try scratch.state.registry.claim(registration, for: ann, at: time + .hours(33))
        _ = try sweep(after: .days(3))
        age(days: 2)
        _ = try sweep(after: .days(3))
        #expect(files("sessions").isEmpty && files("activities").isEmpty)
        age(days: 62)
        _ = try sweep(after: .days(3))
        #expect(files("tokens").count == 1, "the phone's")
    }

    @Test("each turn looks at a part of many listeners, and in some turns at all of them")
    func parts() throws {
        let name = "s"
        func listen(_ numbers: some Sequence<Int>, after interval: Interval) throws {
            for number in numbers {
                var registration = Registration(DeviceToken("\(1000 + number)")!)
                registration.kind = .liveActivity(activity: nil, session: "s")
                _ = try scratch.state.registry.claim(
                    registration, for: UserID("user-\(number)")!, at: time + interval)
            }
        }
        // Those that are over come last.
        try listen(0..<30, after: .days(9))
        try listen(30..<40, after: .seconds(0))
        _ = try sweep(after: .days(2), reading: 8)
        let left = try #require(try scratch.state.sessions[name].read()?.users.count)
        #expect(left >= 32)
        for turn in 1...12 { _ = try sweep(after: .hours(48 + 9 * Int64(turn)), reading: 8) }
        #expect(try scratch.state.sessions[name].read()?.users.count == 30)
    }

    @Test("an activity without a session gives back its name")
    func nameAlone() throws {
        try claim("aaaa", .liveActivity(activity: "a", session: nil))
        var registration = Registration(DeviceToken("bbbb")!)
        registration.kind = .liveActivity(activity: "a", session: nil)
        let bob = UserID("bob")!
        #expect(throws: Failure.self) {
            try scratch.state.registry.claim(registration, for: bob, at: time + .hours(23))
        }
        _ = try sweep(after: .hours(14))
        #expect(try scratch.state.registry.devices(ofActivity: "a").count == 1)
        _ = try sweep(after: .hours(25))
        _ = try scratch.state.registry.claim(registration, for: bob, at: time + .hours(34))
        #expect(try scratch.state.registry.devices(ofActivity: "a").map(\.user) == [bob])
    }

    @Test("a place is given back that somebody has without listening, as a crash may leave it")
    func withoutDevice() throws {
        try claim("aaaa", .liveActivity(activity: nil, session: "s"))
        let name = "s"
        try scratch.state.sessions[name].update { $0.users.append(UserID("nobody")!) }
        _ = try sweep()
        #expect(try scratch.state.sessions[name].read()?.users == [ann])
    }

    @Test(
        "a listener whose document is damaged keeps its place, and others still lose theirs")
    func damagedListener() throws {
        for user in ["bob", "cy"] {
            var registration = Registration(DeviceToken("\(user.utf8.count)\(user.utf8.count)")!)
            registration.kind = .liveActivity(activity: nil, session: "s")
            _ = try scratch.state.registry.claim(registration, for: UserID(user)!, at: time)
        }
        let file = try #require(files("users").first { $0.hasSuffix("/bob.json") })
        try scratch.folder.write("{", to: file)
        _ = try sweep(after: .days(2))
        let name = "s"
        #expect(try scratch.state.sessions[name].read()?.users == [UserID("bob")!])
    }

    @Test("a revoked key is removed after 30 days, and a working one stays")
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
        let user = try scratch.state.users[scratch.user].read()
        #expect(user?.keys.count == 1)
        let working = [first, second].filter { (try? keys.owner(of: $0, at: time)) != nil }
        #expect(working.count == 1)
    }

    @Test("a user who registers an activity while the old one is removed is found")
    func activityMeanwhile() async throws {
        let kind = TokenKind.liveActivity(activity: "a", session: "s")
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for turn in 0..<300 {
                    // By its clock the activity is two days old at once.
                    try claim(turn.isMultiple(of: 2) ? "aaaa" : "bbbb", kind)
                }
            }
            group.addTask { for _ in 0..<20 { _ = try sweep(after: .days(2)) } }
            try await group.waitForAll()
        }
        try claim("aaaa", kind)
        #expect(try scratch.state.registry.users(ofSession: "s") == [ann])
        #expect(try scratch.state.registry.devices(ofActivity: "a").map(\.user) == [ann])
        #expect(try scratch.state.sessions["s"].read()?.users == [ann])
    }

    @Test("a user who registers during a sweep is found")
    func meanwhile() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for _ in 0..<300 {
                    try claim("aaaa")
                    #expect(try scratch.state.registry.users(of: DeviceToken("aaaa")!) == [ann])
                    try scratch.state.registry.unregister("aaaa", by: ann, at: Scratch.time)
                    age(days: 62)
                }
            }
            group.addTask { for _ in 0..<20 { _ = try sweep() } }
            try await group.waitForAll()
        }
        try claim("aaaa")
        #expect(try scratch.state.registry.users(of: DeviceToken("aaaa")!) == [ann])
    }

    @Test(
        "whatever the distance between two runs, each folder of users is the first to be reconciled some day",
        arguments: [Int64(30), 60, 90, 120, 300, 600, 900])
    func reconcileOrder(seconds: Int64) {
        let firsts = (Int64(0)..<67 * 12).compactMap { number in
            Registry.foldersToReconcile(at: time + .seconds(number * seconds)).first
        }
        #expect(Set(firsts).count == 256)
    }

    @Test(
        "whichever of a run's four folders is the first, each of its users is among the first some day"
    )
    func reconcilePlaces() {
        var unreached = [Set<Int>](repeating: Set(0..<1000), count: 4)
        for round in Int64(0)..<400 {
            let now = time + .seconds(round * 67 * 30)
            guard let folder = Registry.foldersToReconcile(at: now).first else { continue }
            let first = Registry.firstToReconcile(among: 1000, at: now)
            for place in first..<first + 64 { unreached[Int(folder % 4)].remove(place % 1000) }
        }
        #expect(unreached.allSatisfy { $0.isEmpty }, "\(unreached.map { $0.count })")
    }
}

import Foundation
import JSON
import TestSupport
import Testing
import Turnstone
import Unix

/// Very many messages to one user, and then one message each to others.
@Suite struct FairnessTests {
    private let world: World
    private let many = 6000
    private let others = 2...6

    init() throws { world = try World() }

    /// To whom all the others wait behind.
    enum Crowd: CaseIterable {
        case user
        case twoUsers
        case unregisteredDevice

        var devices: Int { self == .twoUsers ? 2 : 1 }
    }

    private func send(_ audience: (String, [JSONValue]), isUrgent: Bool) throws -> String {
        try world.sent([
            audience.0: .array(audience.1), "title": "Hello",
            "interruption_level": isUrgent ? "time-sensitive" : "active",
        ])
    }

    /// The first message of a crowd.
    private func sendFirst(_ crowd: Crowd, isUrgent: Bool) throws -> String {
        switch crowd {
        case .user, .twoUsers:
            let users = crowd == .user ? ["ann"] : ["ann", "bea"]
            for (number, user) in users.enumerated() {
                let number = number == 0 ? 1 : 7
                try world.give(user, devices: number...number)
            }
            return try send(("users", users.map { .string($0) }), isUrgent: isUrgent)
        case .unregisteredDevice:
            return try send(("devices", [.string(token(1))]), isUrgent: isUrgent)
        }
    }

    /// Lets a crowd of messages wait in a lane.
    ///
    /// - Parameter isKeyed: whether their ids are as they get them from idempotency keys.
    private func give(
        _ count: Int, _ crowd: Crowd = .user, isUrgent: Bool, isKeyed: Bool
    ) throws {
        let id = try sendFirst(crowd, isUrgent: isUrgent)
        let first = try MessageFile(id, titled: "Hello", in: world)
        for number in 1..<count {
            try first.add(
                titled: "Hello \(number)", order: first.order + Int64(number), isKeyed: isKeyed)
        }
    }

    /// Of the pushes in the order in which they arrived.
    private func titles() throws -> [String?] {
        try world.simulator.pushes().map { push in
            push["payload"]?.object?["aps"]?.object?["alert"]?.object?["title"]?.string
        }
    }

    @Test(
        "a user's messages arrive in the order of their acceptance, however many wait",
        arguments: [200, 501, 6000], [false, true])
    func order(count: Int, isUrgent: Bool) throws {
        try give(count, isUrgent: isUrgent, isKeyed: false)
        try world.run("deliver")
        #expect(try titles() == ["Hello"] + (1..<count).map { "Hello \($0)" })
    }

    @Test("what a drainer left in the backlog goes before what was accepted since")
    func leftInBacklog() throws {
        try give(300, isUrgent: false, isKeyed: false)
        let folder = "\(world.state.path)/spool/apns/ready"
        try FileManager.default.moveItem(
            atPath: "\(folder)/normal", toPath: "\(folder)/backlog")
        try FileManager.default.createDirectory(
            atPath: "\(folder)/normal", withIntermediateDirectories: true)
        _ = try send(("users", ["ann"]), isUrgent: false)
        try world.run("deliver")
        #expect(try titles() == ["Hello"] + (1..<300).map { "Hello \($0)" } + ["Hello"])
    }

    private func sendToOthers(isUrgent: Bool) throws {
        for number in others {
            try world.give("user\(number)", devices: [number])
            _ = try send(("users", [.string("user\(number)")]), isUrgent: isUrgent)
        }
    }

    /// The places of others' pushes among all that were accepted.
    private func placesOfOthers(among count: Int) throws -> [Int] {
        let tokens = try world.simulator.pushes().filter { $0["accepted"] == true }.map {
            $0["token"]
        }
        #expect(tokens.count == count + others.count)
        let tokensOfOthers = others.map { JSONValue.string(token($0)) }
        return tokens.enumerated().filter { token in tokensOfOthers.contains { $0 == token.element }
        }
        .map(\.offset)
    }

    @Test(
        "six thousand messages to one user do not keep others waiting", arguments: [false, true],
        [false, true])
    func others(isUrgent: Bool, isKeyed: Bool) throws {
        try give(many, isUrgent: isUrgent, isKeyed: isKeyed)
        try sendToOthers(isUrgent: isUrgent)
        try world.run("deliver")
        let places = try placesOfOthers(among: many)
        // Without keys the ids name the users; otherwise the drainer has to read all files once.
        #expect(places.count == others.count && places.allSatisfy { $0 < (isKeyed ? 4000 : 1000) })
        #expect(world.spooled().isEmpty)
    }

    @Test(
        "urgent messages to somebody do not keep others' ordinary ones", arguments: Crowd.allCases)
    func urgentCrowd(crowd: Crowd) throws {
        let count = 400
        try give(count, crowd, isUrgent: true, isKeyed: false)
        try sendToOthers(isUrgent: false)
        try world.run("deliver")
        let places = try placesOfOthers(among: count * crowd.devices)
        #expect(
            places.count == others.count && places.allSatisfy { $0 < count / 2 * crowd.devices })
        #expect(world.spooled().isEmpty)
    }

    @Test("pushes that need a locked document wait for it in hand, and others' do not")
    func locked() throws {
        var locks: [FileDescriptor] = []
        for number in 2...7 {
            try world.give("user\(number)", devices: [number])
            _ = try world.sent([
                "users": [.string("user\(number)")], "title": "Hello", "badge": "+1",
            ])
            guard number > 2 else { continue }
            let document = try #require(
                world.state.files().keys.first { $0.hasSuffix("/user\(number).json") })
            let lock = try FileDescriptor.open(
                "\(world.state.path)/\(SharedLock.file(of: document))", .update)
            #expect(try lock.tryLock())
            locks.append(lock)
        }
        let drainer = try world.start("deliver")
        try world.simulator.perform(["do": "wait", "pushes": 1, "ms": 20_000])
        #expect(try world.simulator.pushes().map { $0["token"] } == [.string(token(2))])
        let receipts = try world.receipts().map { $0["user"] }
        for lock in locks { lock.unlock() }
        #expect(receipts.allSatisfy { $0 == nil || $0 == "user2" })
        let ended = try drainer.end()
        #expect(ended.exitCode == 0 && !ended.stderr.contains("unable to lock"), "\(ended.stderr)")
        #expect(try world.acceptedIDs().count == 6)
        #expect(world.spooled().isEmpty)
    }

    @Test("a user whose device never answers leaves room on the connection")
    func silent() throws {
        world.variables["DELIVER_LINGER_SECONDS"] = "60"
        try give(1500, isUrgent: false, isKeyed: false)
        try world.simulator.perform([
            "do": "apns-fault", "kind": "stall", "token": .string(token(1)),
        ])
        try world.give("bea", devices: 2...2)
        // It is sent first, and its answer opens the connection for more than one push at a time.
        _ = try send(("users", ["bea"]), isUrgent: true)
        let drainer = try world.start("deliver")
        defer { drainer.send(SIGKILL) }
        func reported(_ name: String) throws -> Int64 {
            try world.simulator.report("apns")[name]?.integer ?? 0
        }
        for _ in 0..<200 where try reported("requests") < 257 { sleep(for: .milliseconds(100)) }
        #expect(try reported("requests") >= 257)
        try world.give("carl", devices: 3...3)
        _ = try send(("users", ["carl"]), isUrgent: false)
        for _ in 0..<200 where try world.acceptedIDs().count < 2 {
            sleep(for: .milliseconds(100))
        }
        #expect(try world.acceptedIDs().count == 2)
        // They are given up after half a minute, and others take their places.
        #expect(try reported("open_streams") <= 256)
    }

    @Test("six thousand small messages are sent in 28 MB")
    func memory() throws {
        try give(many, isUrgent: false, isKeyed: true)
        // RLIMIT_DATA: the program's writable memory, in KiB.
        let drainer = try Programs.start(
            at: "/bin/sh", ["-c", "ulimit -d 28000; exec '\(Programs.path("deliver"))'"],
            entries: world.environment.map { "\($0.key)=\($0.value)" })
        let ended = try drainer.end()
        #expect(ended.exitCode == 0, "\(ended.stderr.suffix(300))")
        #expect(try Set(world.acceptedIDs()).count == many)
    }

    @Test("what a killed drainer has moved behind others' arrives, and behind others'")
    func killed() throws {
        try give(many, isUrgent: false, isKeyed: true)
        let drainer = try world.start("deliver")
        try world.simulator.perform(["do": "wait", "pushes": 300, "ms": 20_000])
        drainer.send(SIGKILL)
        _ = try drainer.end()
        let taken = try world.acceptedIDs().count
        #expect(world.spooled().contains { $0.hasPrefix("spool/apns/ready/backlog/") })
        try sendToOthers(isUrgent: false)
        try world.run("deliver")
        let ids = try world.acceptedIDs()
        #expect(Set(ids).count == many + others.count)
        let pushes = try world.simulator.pushes().filter { $0["accepted"] == true }
        let first = pushes.firstIndex { $0["token"] == .string(token(2)) }
        #expect(try #require(first) < taken + 3000)
        #expect(world.spooled().isEmpty)
    }
}

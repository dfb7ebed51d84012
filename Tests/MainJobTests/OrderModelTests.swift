import Glibc
import JSON
import TestSupport
import Testing
import Turnstone
import Unix

/// More messages than a drainer takes at once, another number of queues, and drainers that are killed, asked to
/// end, or lose the connection to APNs: each of a user's messages of a lane arrives, the first time in the order of their acceptance.
@Suite final class OrderModelTests {
    private let world: World
    /// The titles of what was accepted, in that order.
    private var accepted: [Line: [String]] = [:]
    private var files: [Line: MessageFile] = [:]

    private struct Line: Hashable {
        let user: Int
        let isUrgent: Bool
    }

    /// The first one gets most of the messages.
    private static let users = [1, 1, 1, 2, 3]
    /// One; some; what a drainer moves to the backlog; more names than it remembers of one user.
    private static let counts = [1, 1, 7, 150, 600, 2500]
    private static let most = 5000

    init() throws {
        world = try World()
        for user in Set(Self.users) { try world.give("user\(user)", devices: user...user) }
    }

    private var count: Int { accepted.values.reduce(0) { $0 + $1.count } }

    private func send(_ count: Int, to line: Line) throws {
        for _ in 0..<count {
            let title = "\(accepted[line]?.count ?? 0)"
            if let file = files[line], count > 1 {
                try file.add(titled: title, order: Timestamp.systemNanoseconds)
            } else {
                let id = try world.sent([
                    "users": [.string("user\(line.user)")], "title": .string(title),
                    "interruption_level": line.isUrgent ? "time-sensitive" : "active",
                ])
                // A drainer may have taken it already.
                if files[line] == nil {
                    files[line] = try? MessageFile(id, titled: title, in: world)
                }
            }
            accepted[line, default: []].append(title)
        }
    }

    private func sendSome(_ random: inout Seeded) throws {
        let line = Line(
            user: Self.users[random.one(in: Self.users.count)],
            isUrgent: random.one(in: 3) == 0)
        let count = Self.counts[random.one(in: Self.counts.count)]
        // A message of a sender's before a crowd, and one after it.
        try send(1, to: line)
        if self.count + count < Self.most { try send(count, to: line) }
        try send(1, to: line)
    }

    /// What happens to the connections of the next drainer.
    private func disturb(_ random: inout Seeded) throws {
        try world.simulator.perform(["do": "clear"])
        switch random.one(in: 4) {
        case 0: try world.simulator.perform(["do": "tls-fault", "kind": "close", "count": 1])
        case 1:
            let count = Int64(1 + random.one(in: 400))
            try world.simulator.perform(["do": "goaway", "after": .integer(count)])
        default: break
        }
    }

    /// What the phones got, each message once, and where it came first.
    private func arrived() throws -> [Line: [String]] {
        var arrived: [Line: [String]] = [:]
        var seen: Set<String> = []
        for push in try world.simulator.pushes() where push["accepted"] == true {
            guard let id = push["apns_id"]?.string, seen.insert(id).inserted else { continue }
            let aps = push["payload"]?.object?["aps"]?.object
            let user = try #require(Set(Self.users).first { .string(token($0)) == push["token"] })
            let line = Line(user: user, isUrgent: aps?["interruption-level"] == "time-sensitive")
            arrived[line, default: []].append(aps?["alert"]?.object?["title"]?.string ?? "")
        }
        return arrived
    }

    @Test(
        "a user's messages keep their order through killed drainers, lost connections and other numbers of queues",
        arguments: 0..<3)
    func order(_: Int) throws {
        // A connection is tried again after one second.
        world.variables["DELIVER_LINGER_SECONDS"] = "3"
        var random = Seeded(seed: UInt64.random(in: 0 ..< .max))
        let seed = random.state
        for _ in 0..<6 {
            try disturb(&random)
            if random.one(in: 3) == 0 {
                world.variables["TURNSTONE_SHARDS"] = "\(1 + random.one(in: 3))"
                files = [:]
            }
            for _ in 0...random.one(in: 3) { try sendSome(&random) }
            let waiting = world.spooled().count
            let taken = try world.simulator.pushes().count
            let drainer = try world.start("deliver")
            _ = try world.simulator.waitForPushes(taken + random.one(in: waiting + 1))
            if random.one(in: 2) == 0 { try sendSome(&random) }
            if random.one(in: 4) > 0 {
                drainer.send(random.one(in: 3) == 0 ? SIGTERM : SIGKILL)
            }
            _ = try drainer.end()
        }
        try world.simulator.perform(["do": "clear"])
        // Drainers of other queues may outlive the one that has started them.
        for _ in 0..<20 where !world.spooled().isEmpty { _ = try world.start("deliver").end() }
        let arrived = try arrived()
        for (line, titles) in accepted {
            let place = zip(arrived[line] ?? [], titles).prefix { $0 == $1 }.count
            #expect(
                arrived[line] == titles,
                "seed \(seed): user \(line.user), urgent: \(line.isUrgent): another one than the \(place + 1)th of \(titles.count)"
            )
        }
        #expect(world.spooled().isEmpty, "seed \(seed)")
    }
}

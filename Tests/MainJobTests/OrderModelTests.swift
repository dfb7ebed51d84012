import Glibc
import JSON
import TestSupport
import Testing
import Turnstone
import Unix

/// More messages than a drainer takes at once, another number of queues, and drainers that are killed, asked to
/// end, or lose the connection to their push service: each of a user's messages of a lane arrives, the first time
/// in the order of their acceptance. Browsers are not among these: what their push services do not answer within a
/// second is put off, and later messages do not wait for it.
@Suite final class OrderModelTests {
    private let world: World
    /// The titles of what was accepted, in that order.
    private var accepted: [Line: [String]] = [:]
    private var files: [Line: MessageFile] = [:]

    private struct Line: Hashable {
        let user: Int64
        let isUrgent: Bool

        /// Of its message with this number. No other message has it.
        func title(_ number: Int) -> String {
            "\(user) \(isUrgent ? "urgent" : "normal") \(number)"
        }

        /// Whether a message is one of its own.
        func owns(_ title: String) -> Bool {
            title.hasPrefix(self.title(0).dropLast())
        }
    }

    /// The first one gets most of the messages.
    private static let users: [Int64] = [1, 1, 1, 2, 3]
    /// One; some; what a drainer moves to the backlog; more names than it remembers of one user.
    private static let counts = [1, 1, 7, 150, 600, 2500]
    private static let most = 5000

    init() throws {
        world = try World.withAllServices()
    }

    private var count: Int { accepted.values.reduce(0) { $0 + $1.count } }

    private func send(_ count: Int, to line: Line) throws {
        for _ in 0..<count {
            let title = line.title(accepted[line]?.count ?? 0)
            if let file = files[line], count > 1 {
                try file.add(titled: title, order: Timestamp.systemNanoseconds)
            } else {
                let id = try world.sent([
                    "users": [.string("\(line.user)")], "title": .string(title),
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
    private func disturb(_ service: String, _ random: inout Seeded) throws {
        try world.simulator.perform(["do": "clear"])
        var command: JSONObject
        switch random.one(in: 4) {
        case 0: command = ["do": "tls-fault", "kind": "close", "count": 1]
        case 1:
            command = ["do": "goaway", "after": .integer(Int64(1 + random.one(in: 400)))]
        default: return
        }
        command["service"] = .string(service)
        try world.simulator.perform(command)
    }

    /// The titles that a push service has accepted, each where it came first. FCM knows no ids by which it could be
    /// told whether a repetition is one.
    private func arrived(at service: String) throws -> [String] {
        var seen: Set<String> = []
        return try world.pushes(of: service).compactMap { push in
            let payload = push["payload"]?.object
            let alert = payload?["aps"]?.object?["alert"] ?? payload?["notification"]
            guard let title = alert?.object?["title"]?.string else {
                throw TestFailure("no title: \(push)")
            }
            return seen.insert(push["apns_id"]?.string ?? title).inserted ? title : nil
        }
    }

    @Test(
        "a user's messages keep their order through killed drainers, lost connections and other numbers of queues",
        arguments: ["apns", "fcm"], 0..<2)
    func order(service: String, _: Int) throws {
        // A connection is tried again after one second.
        world.variables["DELIVER_LINGER_SECONDS"] = "3"
        for user in Set(Self.users) {
            if service == "apns" {
                try world.register(token(Int(user)), of: user)
            } else {
                try world.registerAndroidPhone(Int(user), of: user)
            }
        }
        // FCM's access token is made before a connection fails.
        try send(1, to: Line(user: 1, isUrgent: true))
        try world.run("deliver")
        files = [:]
        var random = Seeded(seed: UInt64.random(in: 0 ..< .max))
        let seed = random.state
        for _ in 0..<6 {
            try disturb(service, &random)
            if random.one(in: 3) == 0 {
                world.variables["TURNSTONE_SHARDS"] = "\(1 + random.one(in: 3))"
                files = [:]
            }
            for _ in 0...random.one(in: 3) { try sendSome(&random) }
            let waiting = world.spooled().count
            let taken = try world.pushes(of: service).count
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
        let all = try arrived(at: service)
        for (line, titles) in accepted {
            let arrived = all.filter(line.owns)
            let place = zip(arrived, titles).prefix { $0 == $1 }.count
            #expect(
                arrived == titles,
                "seed \(seed): user \(line.user), urgent: \(line.isUrgent): another one than the \(place + 1)th of \(titles.count)"
            )
        }
        #expect(world.spooled().isEmpty, "seed \(seed)")
    }
}

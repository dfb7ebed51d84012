import Documents
import Foundation
import JSON
import Spool
import Store
import TestSupport
import Testing
import Turnstone
import Unix

#if canImport(Glibc)
    import Glibc
#endif

/// From accepted notifications to receipts, with the built `deliver` and the simulated APNs.
@Suite struct DeliveryTests {
    private func deliver(_ world: World, exitCode: Int32 = 0) throws -> JSONObject {
        try world.run("deliver", exitCode: exitCode)
    }

    @Test("each device of a large notification has its verdict, once, whatever it is")
    func largeAndMixed() throws {
        let world = try World()
        try world.accept("a", devices: 1...1500)
        let now = world.now
        for number in 1...1500 where number % 10 < 3 {
            let kind = ["gone", "bad", "other-topic"][number % 10]
            try world.simulator.perform([
                "do": "token", "token": .string(token(number)), "is": .string(kind),
                "since": .integer(now),
            ])
        }
        try world.simulator.perform(["do": "apns-fault", "status": 503, "count": 40])
        let first = try deliver(world)
        #expect(first["waiting"] == 1, "\(first)")
        #expect(world.spooled().allSatisfy { $0.hasPrefix("spool/apns/waiting/") })
        try world.advance(seconds: 20 * 60)
        #expect(try deliver(world)["finished"] == 1)

        let outcomes = try world.outcomes()
        #expect(outcomes.count == 1500)
        for number in 1...1500 {
            let expected = ["gone", "quarantined", "refused"]
            let outcome = number % 10 < 3 ? expected[number % 10] : "accepted"
            #expect(outcomes[number - 1] == [outcome])
        }
        #expect(try world.receipts().filter { $0["status"] == 503 }.count == 40)
        let report = try world.simulator.apns()
        #expect(report["accepted"] == 1050)
        #expect(report["distinct_ids"] == 1050)
        #expect(world.spooled().isEmpty)
    }

    @Test(
        "health says so where the push service puts all off, until it judges a push again",
        arguments: [
            ["status": 503], ["status": 500], ["status": 429],
            ["status": 429, "reason": "TooManyProviderTokenUpdates"],
        ] as [JSONObject])
    func failing(fault: JSONObject) throws {
        let world = try World()
        var command = fault
        command["do"] = "apns-fault"
        try world.simulator.perform(command)
        try world.accept("a", devices: 1...2, lasting: .days(1))
        for _ in 0..<4 {
            _ = try deliver(world)
            try world.advance(seconds: 20 * 60)
        }
        #expect(try world.problems().contains("delivery failing"))
        try world.simulator.perform(["do": "clear"])
        try world.advance(seconds: 4 * 3600)
        _ = try deliver(world)
        #expect(try world.acceptedIDs().count == 2)
        #expect(try !world.problems().contains("delivery failing"))
    }

    @Test("urgent ones go first, and a large one last")
    func lanes() throws {
        let world = try World()
        try world.accept("large", devices: 1...200)
        try world.accept("small", devices: 201...203)
        try world.accept(
            "urgent", devices: 204...206, aps: ["interruption-level": "time-sensitive"])
        _ = try deliver(world)
        let tokens = try world.simulator.pushes().compactMap { $0["token"]?.string }
        #expect(tokens.count == 206)
        #expect(Set(tokens.prefix(3)) == Set((204...206).map { token($0) }))
        #expect(Set(tokens.dropFirst(3).prefix(3)) == Set((201...203).map { token($0) }))
    }

    @Test("devices that are known to be good go first")
    func provenFirst() throws {
        let world = try World()
        for number in 1...4 {
            try world.accept("n\(number)", devices: number...number, isProven: number == 3)
        }
        _ = try deliver(world)
        #expect(try world.simulator.pushes().first?["token"] == .string(token(3)))
    }

    @Test("SIGTERM finishes what is in flight, leaves the rest, and nothing is sent twice")
    func ended() throws {
        let world = try World(["--streams", "10"])
        try world.accept("a", devices: 1...400)
        try world.simulator.perform(["do": "apns-fault", "kind": "delay", "ms": 30, "every": 1])
        let program = try world.start("deliver")
        try world.simulator.perform(["do": "wait", "pushes": 20, "ms": 60_000])
        program.send(SIGTERM)
        let ended = try program.end()
        #expect(ended.exitCode == 0, "\(ended.stderr)")
        let sent = try world.simulator.apns()["accepted"]?.integer ?? 0
        #expect((20..<400).contains(sent))
        #expect(try world.outcomes().count == sent)
        try world.simulator.perform(["do": "clear"])
        _ = try deliver(world)
        #expect(try world.simulator.apns()["requests"] == 400)
        #expect(try world.outcomes().count == 400)
    }

    @Test("what a killed drainer left is sent again only where its answer was not on record")
    func killed() throws {
        let world = try World(["--streams", "10"])
        try world.accept("a", devices: 1...400)
        try world.simulator.perform(["do": "apns-fault", "kind": "delay", "ms": 30, "every": 1])
        let program = try world.start("deliver")
        try world.simulator.perform(["do": "wait", "pushes": 50, "ms": 60_000])
        program.send(SIGKILL)
        _ = try program.end()
        let known = try world.outcomes().count
        #expect(known > 0)
        try world.simulator.perform(["do": "clear"])
        _ = try deliver(world)
        let report = try world.simulator.apns()
        #expect(report["distinct_ids"] == 400)
        // Only pushes that were in flight, or answered but not yet synced.
        let accepted = report["accepted"]?.integer ?? 0
        #expect(accepted <= 400 + 50)
        #expect(try world.outcomes().allSatisfy { $0.value == ["accepted"] })
        #expect(try world.outcomes().count == 400)
        // And the receipts say so.
        let repeats = try world.receipts().filter { $0["repeat"] == true }
        var times: [String: Int] = [:]
        for id in try world.acceptedIDs() { times[id, default: 0] += 1 }
        for (id, count) in times where count > 1 {
            #expect(count == 2 && repeats.contains { $0["apns_id"] == .string(id) })
        }
        #expect(repeats.allSatisfy { $0["outcome"] == "accepted" })
    }

    @Test("a drainer that is stopped in its tracks is reported, and goes on when it may")
    func stuck() throws {
        let world = try World(["--streams", "1"])
        try world.accept("a", devices: 1...30)
        try world.simulator.perform(["do": "apns-fault", "kind": "delay", "ms": 30, "every": 1])
        let program = try world.start("deliver")
        try world.simulator.perform(["do": "wait", "pushes": 2, "ms": 60_000])
        #expect(try world.health().status == 200)
        program.send(SIGSTOP)
        try world.advance(seconds: 61)
        let health = try world.health()
        let problem = health.json?.object?["problems"]?.array?.first?.object
        #expect(problem?["problem"] == "drainer stuck")
        #expect(problem?["process"] == .integer(Int64(program.id)))
        let second = try world.start("deliver").end()
        #expect(second.exitCode == 0)
        #expect(second.stderr.contains("gives no sign of life"))
        program.send(SIGCONT)
        #expect(try program.end().exitCode == 0)
        #expect(try world.outcomes().count == 30)
        #expect(try world.health().status == 200)
    }

    @Test("a gateway that is not there costs nothing but time, and health says so")
    func unreachable() throws {
        let world = try World()
        try world.accept("a", devices: 1...3)
        world.variables["APNS_BASE_URL"] = "https://127.0.0.1:1"
        _ = try deliver(world, exitCode: 111)
        let problem = try world.health().json?.object?["problems"]?.array?.first?.object
        #expect(problem?["problem"] == "delivery stopped")
        #expect(problem?["reason"] == "ECONNREFUSED")
        #expect(try world.receipts().allSatisfy { $0["apns_id"] == nil }, "nothing was tried")
        world.variables = [:]
        _ = try deliver(world)
        #expect(try world.outcomes().count == 3)
        #expect(try world.receipts().allSatisfy { $0["repeat"] == nil })
        #expect(try world.health().status == 200)
    }

    @Test(
        "health names a link that leads nowhere, as to a disk that is not mounted",
        arguments: ["users", "spool", "spool/apns/ready", "messages"])
    func brokenLink(name: String) throws {
        let world = try World()
        try world.accept("a", devices: 1...3)
        _ = try deliver(world)
        #expect(try world.health().status == 200)
        let path = "\(world.state.path)/\(name)"
        try? FileManager.default.removeItem(atPath: path)
        try FileManager.default.createSymbolicLink(
            atPath: path, withDestinationPath: "\(world.state.path)/not-there")
        let problems = try world.health().json?.object?["problems"]?.array ?? []
        let link = problems.first { $0.object?["problem"] == "broken link" }
        #expect(link?.object?["file"] == .string(path))
    }

    @Test("a gateway that could not be reached is no problem once nothing waits for it")
    func unreachableForNothing() throws {
        let world = try World()
        try world.accept("a", devices: 1...3)
        world.variables["APNS_BASE_URL"] = "https://127.0.0.1:1"
        _ = try deliver(world, exitCode: 111)
        #expect(try world.health().status == 503)
        try world.advance(seconds: 7200)
        _ = try deliver(world)
        #expect(world.spooled().isEmpty)
        #expect(try world.health().status == 200)
    }

    @Test("a gateway that answers pushes again is no longer a problem", arguments: ["gone", "bad"])
    func judgesAgain(state: String) throws {
        let world = try World()
        try world.simulator.perform([
            "do": "token", "token": .string(token(1)), "is": .string(state),
            "since": .integer(world.now + 1),
        ])
        let goAway: JSONObject = ["do": "goaway", "after": 0, "abrupt": true, "each": true]
        try world.simulator.perform(goAway)
        try world.accept("a", devices: 1...1)
        for _ in 0..<3 {
            _ = try world.start("deliver").end()
            try world.simulator.perform(["do": "clear"])
            try world.advance(seconds: 60)
        }
        #expect(world.spooled().isEmpty)
        #expect(try world.health().status == 200)
    }

    @Test("while a stop holds nothing is tried, and afterwards it is")
    func stopHolds() throws {
        let world = try World()
        try world.accept("a", devices: 1...3)
        world.variables["APNS_TEAM_ID"] = "WRONGTEAM1"
        _ = try deliver(world, exitCode: 111)
        let asked = try world.simulator.apns()["requests"]
        #expect(try deliver(world)["accepted"] == 0)
        #expect(try world.simulator.apns()["requests"] == asked)
        try world.advance(seconds: 301)
        _ = try deliver(world, exitCode: 111)
        #expect(try world.simulator.apns()["requests"] != asked)
    }

    @Test(
        "a job that cannot be finished now does not keep a drainer busy, and a later one finishes it"
    )
    func unfinished() throws {
        let world = try World()
        try world.beginGame()
        try world.register(token(1), of: 1)
        try world.move()
        try world.advance(seconds: 31)
        try world.run("check-turns")
        let name = try #require(
            world.state.files().keys.first { $0.hasPrefix("users/") && $0.hasSuffix("/1.json") })
        let lock = try FileDescriptor.open(
            "\(world.state.path)/\(SharedLock.file(of: name))", .update)
        try world.simulator.perform(["do": "apns-fault", "kind": "delay", "ms": 1000, "count": 1])
        let drainer = try world.start("deliver")
        // Sent, and not answered yet.
        try world.simulator.perform(["do": "wait", "requests": 1, "ms": 20_000])
        #expect(try lock.tryLock())
        let summary = try JSON.parse(drainer.end().output).object
        #expect(summary?["accepted"] == 1 && summary?["finished"] == nil)
        #expect(world.spooled().count == 1)
        lock.unlock()
        #expect(try deliver(world)["finished"] == 1)
        #expect(world.spooled().isEmpty)
        #expect(try world.simulator.apns()["requests"] == 1, "it was sent once")
        #expect(try world.document(1)["last_notification_time"] == .integer(world.now))
    }

    @Test("a rotated key is followed without a restart")
    func rotated() throws {
        let world = try World()
        let config = TemporaryFolder()
        let path = "\(config.path)/turnstone.env"
        // The environment's own values would win over the file's.
        var lines = world.simulator.environment.filter { $0.key.hasPrefix("APNS_") }
        world.hidden = Set(lines.keys)
        func configure() throws {
            let text = lines.map { "\($0.key)=\($0.value)\n" }.joined()
            try config.write(text, to: "turnstone.env")
        }
        try configure()
        world.variables = ["TURNSTONE_CONFIG": path, "DELIVER_LINGER_SECONDS": "60"]
        try world.accept("a", devices: 1...2)
        let program = try world.start("deliver")
        try world.simulator.perform(["do": "wait", "pushes": 2, "ms": 60_000])

        let key = try world.simulator.perform([
            "do": "key", "key_id": "OTHERKEY01", "team_id": "TURNSTONE1",
        ])
        lines["APNS_KEY_PATH"] = key["apns_key"]?.string
        lines["APNS_KEY_ID"] = "OTHERKEY01"
        try configure()
        var follows = false
        while !follows {
            try world.accept("b", devices: 3...3)
            try world.simulator.perform(["do": "wait", "pushes": 3, "ms": 60_000])
            follows = try world.simulator.apns()["provider_tokens"] == 2
            if !follows { usleep(100_000) }
        }
        program.send(SIGTERM)
        let ended = try program.end()
        #expect(ended.exitCode == 0)
        #expect(ended.stderr.contains("now uses the changed configuration"))
        #expect(try world.simulator.apns()["connections"] == 2)
    }

    @Test("the log of a drainer that goes on and on is begun anew when it gets long")
    func log() throws {
        let world = try World()
        try world.beginGame()
        try world.register(token(1), of: 1)
        try world.move()
        world.variables = ["TURNSTONE_DELIVER": "spawn", "DELIVER_LINGER_SECONDS": "60"]
        try world.advance(seconds: 31)
        try world.run("check-turns")
        try world.simulator.perform(["do": "wait", "pushes": 1, "ms": 60_000])
        let lock = try #require(world.state.read("spool/apns/drainer.lock"))
        let process = try #require(try JSON.parse(lock).object?["pid"]?.integer)
        try world.state.write(String(repeating: "x", count: 1 << 20) + "\n", to: "filler")
        try FileDescriptor.open("\(world.state.path)/deliver.log", .append).write(
            world.state.read("filler") ?? [])
        while world.state.read("deliver.log.1") == nil { usleep(50_000) }
        kill(pid_t(process), SIGTERM)
        while try Spool(state: world.state.path, .apns).election() == nil { usleep(10_000) }
        #expect((world.state.read("deliver.log.1")?.count ?? 0) > 1 << 20)
        #expect((world.state.read("deliver.log")?.count ?? 0) < 1 << 20)
    }

    @Test("an expired or unwanted message is not sent")
    func expired() throws {
        let world = try World()
        try world.accept("a", devices: 1...150)
        try world.advance(seconds: 3601)
        #expect(try deliver(world)["finished"] == 1)
        #expect(try world.simulator.apns()["requests"] == 0)
        #expect(try world.outcomes().allSatisfy { $0.value == ["expired"] })
        #expect(try world.outcomes().count == 150)
    }

    @Test("a large file that is damaged half-way is kept, and holds up nothing else")
    func damaged() throws {
        let world = try World()
        try world.accept("a", devices: 1...1200)
        let path = "spool/apns/ready/bulk/\(World.id("a")).jsonl"
        var bytes = try #require(world.state.read(path))
        bytes.replaceSubrange((bytes.count - 40)..<(bytes.count - 39), with: [0])
        try world.state.write(bytes, to: path)
        try world.accept("b", devices: 1300...1300)
        #expect(try deliver(world)["finished"] == 1)
        #expect(world.spooled() == ["spool/apns/failed/\(World.id("a")).jsonl"])
        #expect(try world.outcomes("a").count == 1199)
        #expect(try world.outcomes("b").count == 1)
    }
}

extension World {
    static func id(_ name: String) -> String {
        let digits = String(repeating: "0", count: 12) + String(name.hashValue.magnitude, radix: 16)
        return "7c9f2a54-1f0e-8b34-9a11-\(digits.suffix(12))"
    }

    /// Accepts a notification as an endpoint would.
    func accept(
        _ name: String, devices: ClosedRange<Int>, aps: JSONObject = [:], isProven: Bool = false,
        lasting: Interval = .hours(1), wantedAt moment: Int64? = nil
    ) throws {
        var members: JSONObject = ["alert": "Hello"]
        for member in aps.members { members[member.name] = member.value }
        try change("7") { user in
            let registered = Timestamp(milliseconds: now - 60_000)
            for token in devices.compactMap({ DeviceToken(token($0)) }) {
                if user.device(token) == nil {
                    user.devices.append(Device(token, registered: registered))
                }
            }
        }
        let accepted = Timestamp(milliseconds: now)
        let notification = Notification(
            id: Self.id(name), user: UserID("7"), accepted: accepted,
            expires: accepted + lasting,
            push: PushContent(
                type: .alert, priority: 10, collapseID: nil, payload: Payload(aps: members)))
        try Spools(state: state.path, shards: 1).accept(
            notification,
            to: devices.map { number in
                guard let device = DeviceToken(token(number)) else {
                    throw TestFailure("no token")
                }
                return Delivery(token: device, environment: nil, isProven: isProven)
            }, notBefore: moment.map { .requested(Timestamp(milliseconds: $0)) })
    }

    /// The recorded outcomes of each device.
    func outcomes(_ name: String = "a") throws -> [Int: [String]] {
        var outcomes: [Int: [String]] = [:]
        for line in try receipts() where line["id"] == .string(Self.id(name)) {
            guard let number = line["n"]?.integer, let outcome = line["outcome"]?.string else {
                continue
            }
            outcomes[Int(number), default: []].append(outcome)
        }
        return outcomes
    }

    func health() throws -> Answer {
        variables["TURNSTONE_SERVER_KEY"] = "health-asks-for-the-reasons-with-this-key"
        defer { variables["TURNSTONE_SERVER_KEY"] = nil }
        let event: JSONValue = [
            "method": "GET", "path": "/health",
            "headers": ["Authorization": "Key health-asks-for-the-reasons-with-this-key"],
        ]
        return try Answer(event: start("health", event).end().stdout)
    }
}

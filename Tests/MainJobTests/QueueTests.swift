import Foundation
import Glibc
import JSON
import TestSupport
import Testing
import Turnstone

/// What the queues of several push services do to each other.
@Suite struct QueueTests {
    /// Drains one queue after the other.
    private func drain(_ world: World, _ queues: [String]) throws {
        for queue in queues {
            world.variables["TURNSTONE_QUEUE"] = queue
            _ = try world.start(queue == "web" ? "deliver-web" : "deliver").end()
        }
        world.variables["TURNSTONE_QUEUE"] = nil
    }

    /// What a queue's lock file says of its drainer.
    private func drainer(of queue: String, in world: World) -> JSONObject? {
        guard let bytes = world.state.read("spool/\(queue)/drainer.lock") else { return nil }
        return try? JSON.parse(bytes.filter { $0 != UInt8(ascii: " ") }).object
    }

    private func devices(_ world: World, _ player: Int64) throws -> Int {
        try world.document(player)["devices"]?.array?.count ?? 0
    }

    /// `SENDER_ID_MISMATCH` is also what FCM says if the service account is that of another project.
    @Test func aWrongServiceAccountRemovesNobody() throws {
        let world = try World.withAllServices()
        for player in 1...4 { try world.registerAllKinds(of: Int64(player), player) }
        let mismatch: JSONObject = [
            "do": "fcm-fault", "status": 403, "reason": "SENDER_ID_MISMATCH",
        ]
        try world.simulator.perform(mismatch)
        for player in 1...3 {
            _ = try world.sent(["users": [.string("\(player)")], "title": "Lunch"])
            try world.run("deliver")
            #expect(try devices(world, Int64(player)) == 3, "player \(player)")
        }
        #expect(try world.problems() == ["pushes refused"])

        // The account was right after all: FCM has accepted a push.
        try world.simulator.perform(["do": "clear"])
        _ = try world.sent(["users": ["4"], "title": "Lunch"])
        try world.run("deliver")
        #expect(try world.problems() == [])
        try world.simulator.perform(mismatch)
        _ = try world.sent(["users": ["1"], "title": "Lunch"])
        try world.run("deliver")
        #expect(try devices(world, 1) == 2)
    }

    /// Nothing was ever accepted, so the devices are kept, and `health` says why.
    @Test(arguments: [("fcm", 404, "UNREGISTERED"), ("web", 410, "none"), ("web", 404, "none")])
    func aServiceThatCallsEveryDeviceGoneIsAProblem(
        service: String, status: Int, reason: String
    ) throws {
        let world = try World.withAllServices()
        for player in 1...20 { try world.registerAllKinds(of: Int64(player), player) }
        try world.simulator.perform([
            "do": .string("\(service)-fault"), "status": .integer(Int64(status)),
            "reason": .string(reason),
        ])
        _ = try world.sent([
            "users": JSONValue(texts: (1...20).map { "\($0)" }), "title": "Lunch",
        ])
        try drain(world, [service])
        for player in 1...20 { #expect(try devices(world, Int64(player)) == 3, "player \(player)") }
        let problems = try world.health().json?.object?["problems"]?.array ?? []
        let refused = problems.compactMap(\.object).filter { $0["problem"] == "pushes refused" }
        #expect(refused.map { $0["service"] } == [.string(service)])
        #expect(
            refused.first?["message"]?.string?.contains("has accepted no push") == true)

        try world.simulator.perform(["do": "clear"])
        _ = try world.sent(["users": ["1"], "title": "Dinner"])
        try drain(world, [service])
        #expect(try !world.problems().contains("pushes refused"))
    }

    /// The first and the last service fail, and the one between them reaches the user.
    @Test(arguments: [["apns", "fcm", "web"], ["web", "apns", "fcm"], ["fcm", "web", "apns"]])
    func theBadgeStaysIfAnyServiceReachedTheUser(order: [String]) throws {
        for accepting in order {
            let world = try World.withAllServices()
            try world.registerAllKinds(of: 1)
            for service in order where service != accepting {
                try world.simulator.perform([
                    "do": .string("\(service)-fault"), "status": 400,
                    "reason": service == "apns" ? "BadCollapseId" : "none",
                ])
            }
            _ = try world.sent(["users": ["1"], "title": "Lunch", "badge": "+1"])
            try drain(world, order)
            #expect(try world.accepted()[accepting] == 1)
            #expect(try world.document(1)["badge"] == 1, "\(accepting) in \(order)")
        }
    }

    @Test(arguments: [["apns", "fcm"], ["fcm", "apns"]])
    func theBadgeOfEachUnreachedUserIsTakenBack(order: [String]) throws {
        let world = try World.withAllServices()
        try world.register(token(1), of: 1)
        _ = try world.ask(
            "register", "POST", "/register", by: 2,
            ["user_id": "2", "platform": "android", "device_token": .string(World.androidToken)])
        for service in order {
            try world.simulator.perform([
                "do": .string("\(service)-fault"), "status": 400,
                "reason": service == "apns" ? "BadCollapseId" : "none",
            ])
        }
        _ = try world.sent(["users": ["1", "2"], "title": "Lunch", "badge": "+1"])
        try drain(world, order)
        #expect(try (world.document(1)["badge"] ?? 0) == 0)
        #expect(try (world.document(2)["badge"] ?? 0) == 0)
        #expect(try world.document(1)["unreached"] == nil)
    }

    /// An iPhone may show a number although its push was never answered, while the Android phone's waits.
    @Test func aNumberThatMayBeShownIsCorrected() throws {
        let world = try World.withAllServices()
        try world.registerAllKinds(of: 1)
        try world.beginGame()
        try world.cycle()
        try world.move()
        try world.advance(seconds: 31)
        try world.run("check-turns")
        try world.simulator.perform(["do": "fcm-fault", "status": 503])
        try world.simulator.perform(["do": "web-fault", "status": 503])
        try world.simulator.perform(["do": "apns-fault", "kind": "drop", "accepted": true])
        try drain(world, ["apns", "fcm", "web"])
        #expect(try world.accepted()["apns"] ?? 0 > 0)
        // The notice expires.
        try world.advance(seconds: 8 * 86_400)
        try drain(world, ["apns"])
        try drain(world, ["fcm", "web"])
        try world.simulator.perform(["do": "clear"])
        try world.move()
        let shown = try world.accepted()["apns"] ?? 0
        try world.cycle()
        try world.cycle()
        let pushes = try world.pushes(of: "apns").dropFirst(Int(shown))
        let badges = pushes.map { $0["payload"]?.object?["aps"]?.object?["badge"] }
        #expect(badges == [0], "the icon shows 1, and no game waits")
    }

    /// A crash has left parts without their names, and one queue cannot be used.
    @Test func aQueueThatCannotBeUsedHoldsUpNoOther() throws {
        let world = try World.withAllServices()
        try world.registerAllKinds(of: 1)
        let id = try world.sent(["users": ["1"], "title": "Lunch"])
        let spool = "\(world.state.path)/spool"
        let places = ["apns", "fcm", "web"].map { "\($0)/ready/normal" }
        for place in places {
            let path = "\(spool)/\(place)/\(id).jsonl"
            try FileManager.default.moveItem(atPath: path, toPath: "\(path).new")
        }
        try world.state.write(
            JSON.text(["version": 1, "places": JSONValue(texts: places)]),
            to: "spool/joint/\(id).json")
        let broken = "\(spool)/apns/ready/normal"
        try FileManager.default.moveItem(atPath: broken, toPath: "\(spool)/aside")
        try world.state.write([], to: "spool/apns/ready/normal")
        try drain(world, ["fcm", "web"])
        #expect(try world.accepted() == ["apns": 0, "fcm": 1, "web": 1])
        // Mended.
        try FileManager.default.removeItem(atPath: broken)
        try FileManager.default.moveItem(atPath: "\(spool)/aside", toPath: broken)
        try world.run("deliver")
        #expect(try world.accepted() == ["apns": 1, "fcm": 1, "web": 1])
        #expect(try world.report(id)["counts"] == ["accepted": 3])
    }

    /// What an earlier key or subject was refused for is no present problem.
    @Test func refusalsOfEarlierSettingsAreNoProblem() throws {
        let world = try World.withAllServices()
        for player in 1...3 {
            try world.registerAllKinds(of: Int64(player), player)
        }
        try world.simulator.perform([
            "do": "web-fault", "status": 403, "reason": "VapidPkHashMismatch",
        ])
        for player in 1...3 {
            _ = try world.sent(["users": [.string("\(player)")], "title": "Lunch"])
            _ = try world.start("deliver").end()
            try world.advance(seconds: 901)
        }
        #expect(try world.problems().contains("pushes refused"))
        world.variables["VAPID_SUBJECT"] = "mailto:other@example.org"
        #expect(try !world.problems().contains("pushes refused"))
    }

    /// `deliver` may run for days. What failed a minute ago is tried again meanwhile.
    @Test func aServiceThatFailedIsTriedAgainWhileAnotherIsBusy() async throws {
        try await onItsOwnThread {
            let world = try World.withAllServices()
            try world.registerAllKinds(of: 1)
            try world.register(token(2), of: 2)
            try world.simulator.perform(["do": "oauth-fault", "status": 500])
            // The pauses are real ones.
            try world.simulator.perform(["do": "clock"])
            world.hidden = ["TURNSTONE_NOW"]
            world.variables["DELIVER_LINGER_SECONDS"] = "3"
            _ = try world.sent(["users": ["1"], "title": "Lunch"])
            let deliver = try world.start("deliver")
            defer { deliver.send(SIGTERM) }
            var hasFailed = false
            for _ in 0..<60 where try world.accepted()["fcm"] == 0 {
                // Keeps the drainer of APNs busy.
                _ = try world.sent(["users": ["2"], "title": "Dinner"])
                sleep(1)
                guard !hasFailed, drainer(of: "fcm", in: world)?["ended"] == true else { continue }
                hasFailed = true
                try world.simulator.perform(["do": "clear"])
            }
            #expect(hasFailed)
            #expect(try world.accepted()["fcm"] == 1)
            deliver.send(SIGTERM)
            #expect(try deliver.end().exitCode == 0)
        }
    }

    /// What was put off comes due while the process waits for the drainers of other services.
    @Test func whatIsDueDoesNotWaitForOtherServices() async throws {
        try await onItsOwnThread {
            let world = try World.withAllServices()
            try world.registerAllKinds(of: 1)
            try world.simulator.perform(["do": "clock"])
            try world.simulator.perform(["do": "fcm-fault", "kind": "delay", "ms": 9000])
            try world.simulator.perform(["do": "web-fault", "kind": "delay", "ms": 9000])
            try world.simulator.perform([
                "do": "apns-fault", "status": 429, "reason": "TooManyRequests", "retry_after": 2,
                "count": 1,
            ])
            world.hidden = ["TURNSTONE_NOW"]
            _ = try world.sent(["users": ["1"], "title": "Lunch"])
            let deliver = try world.start("deliver")
            let ended = try deliver.end()
            #expect(ended.exitCode == 0, "\(ended.stderr)")
            // In the same run.
            #expect(try world.accepted() == ["apns": 1, "fcm": 1, "web": 1])
        }
    }

    /// Two drainers write one log, and one of them begins a new file.
    @Test func eachDrainerFollowsTheLog() async throws {
        try await onItsOwnThread {
            let world = try World.withAllServices()
            try world.registerAllKinds(of: 1)
            world.hidden = ["TURNSTONE_DELIVER", "TURNSTONE_NOW"]
            try world.simulator.perform(["do": "clock"])
            world.variables["DELIVER_LINGER_SECONDS"] = "60"
            _ = try world.sent(["users": ["1"], "title": "Lunch"])
            #expect(try world.simulator.waitForPushes(3, milliseconds: 30_000))
            let log = "\(world.state.path)/deliver.log"
            let drainers = ["apns", "fcm", "web"].compactMap { service in
                (drainer(of: service, in: world)?["pid"]?.integer).map { pid_t($0) }
            }
            defer { for drainer in drainers { kill(drainer, SIGTERM) } }
            #expect(drainers.count == 3)
            try FileManager.default.moveItem(atPath: log, toPath: "\(log).1")
            try world.state.write([], to: "deliver.log")
            for drainer in drainers {
                var target = ""
                for _ in 0..<200 where target != log {
                    usleep(50_000)
                    target =
                        (try? FileManager.default.destinationOfSymbolicLink(
                            atPath: "/proc/\(drainer)/fd/2")) ?? ""
                }
                #expect(target == log)
            }
        }
    }

    @Test func aMissingProgramForANamedQueueIsAnError() throws {
        let world = try World.withAllServices()
        try world.registerAllKinds(of: 1)
        _ = try world.sent(["users": ["1"], "title": "Lunch"])
        let folder = TemporaryFolder()
        let alone = "\(folder.path)/deliver"
        try folder.copyProgram(Programs.path("deliver"), to: "deliver")
        for (queue, code) in [("web", 100 as Int32), (nil, 0)] {
            world.variables["TURNSTONE_QUEUE"] = queue
            let ended = try Programs.start(
                at: alone, [], input: [], entries: world.environment.map { "\($0.key)=\($0.value)" }
            ).end()
            #expect(ended.exitCode == code, "\(ended.stderr)")
            #expect(ended.stderr.contains("deliver-web"), "\(ended.stderr)")
        }
    }
}

import JSON
import TestSupport
import Testing
import Turnstone

#if canImport(Glibc)
    import Glibc
#endif

/// Broadcast channels, from an app's own backend to APNs.
@Suite struct ChannelTests {
    @Test(
        "a channel is made, gets an update and the end, and is deleted",
        arguments: ["none", "newest"])
    func life(policy: String) throws {
        let world = try World()
        let id = try world.makeChannel(policy)
        #expect(try world.broadcast(id, 1).json?.object?["state"] == "queued")
        try world.run("deliver")
        try world.advance(seconds: 1)
        #expect(try world.broadcast(id, 2, ["event": "end"]).status == 202)
        try world.run("deliver")

        let pushes = try world.simulator.pushes()
        #expect(pushes.map { $0["accepted"] } == [true, true])
        #expect(pushes.map { $0["channel"]?.string } == [id, id])
        let expirations = pushes.map {
            $0["headers"]?.object?["apns-expiration"]?.string != "0"
        }
        #expect(expirations == (policy == "newest" ? [true, true] : [false, false]))
        #expect(try world.broadcasts().map { $0.event } == ["update", "end"])
        #expect(try world.broadcasts().map { $0.step } == [1, 2])

        #expect(try world.channels("GET")["channels"] == [.string(id)])
        #expect(try world.channels("GET", id)["messageStoragePolicy"] == .string(policy))
        #expect(try world.askChannels("DELETE", id).status == 200)
        #expect(try world.channels("GET")["channels"] == [])
        #expect(try world.askChannels("GET", id).status == 404)
        #expect(try world.askChannels("DELETE", id).status == 404)
        #expect(try world.broadcast(id, 3).status == 404)
        #expect(world.spooled().isEmpty)
        // Whoever manages channels and whoever delivers have the same provider token.
        #expect(try world.simulator.apns()["provider_tokens"] == 1)
    }

    @Test("updates go out each once and in order, also when the drainer is killed between")
    func killed() throws {
        let world = try World()
        let id = try world.makeChannel("newest")
        for number in 1...20 {
            #expect(try world.broadcast(id, Int64(number)).status == 202)
            try world.killDrainer(after: number * 3 % 40)
            try world.run("deliver")
            try world.advance(seconds: 1)
        }
        let pushes = try world.broadcasts()
        #expect(pushes.map { $0.step } == Array(1...20))
        for (earlier, later) in zip(pushes, pushes.dropFirst()) {
            #expect(later.timestamp > earlier.timestamp)
        }
        #expect(world.spooled().isEmpty)
        #expect(try world.outcomes(of: id) == Array(repeating: "accepted", count: 20))
    }

    @Test("eight processes at once leave the newest state, whoever wrote it")
    func eightProcesses() throws {
        let world = try World()
        let id = try world.makeChannel("none")
        let second = world.now / 1000 - 60
        let programs = try (1...8).shuffled().map { number in
            let moment = JSONValue.number(Double(second) + Double(number) / 10)
            return try world.startBackend(
                "live-activity",
                world.broadcasting(id, Int64(number), ["timestamp": moment]))
        }
        for program in programs {
            #expect(try Answer(event: program.end().stdout).status == 202)
        }
        try world.run("deliver")
        #expect(try world.broadcasts().last?.step == 8)
        #expect(world.spooled().isEmpty)
    }

    @Test(
        "a busy gateway gets the same state again, unless a newer one is known", arguments: [1, 2])
    func busy(states: Int64) throws {
        let world = try World()
        let id = try world.makeChannel("none")
        try world.simulator.perform(["do": "apns-fault", "status": 429, "count": 1])
        for number in 1...states {
            _ = try world.broadcast(id, number)
            try world.run("deliver")
        }
        try world.advance(seconds: 16)
        try world.run("deliver")
        #expect(try world.broadcasts().map { $0.step } == [states])
        #expect(
            try Set(world.outcomes(of: id))
                == (states == 1 ? ["accepted"] : ["accepted", "superseded"]))
        #expect(world.spooled().isEmpty)
    }

    @Test("an end is not overtaken: what comes after it is taken when it has gone out")
    func afterTheEnd() throws {
        let world = try World()
        let id = try world.makeChannel("none")
        _ = try world.broadcast(id, 1)
        try world.run("deliver")
        try world.simulator.perform(["do": "apns-fault", "status": 503, "count": 1])
        #expect(try world.broadcast(id, 2, ["event": "end"]).status == 202)
        #expect(try world.broadcast(id, 3).status == 409)
        try world.run("deliver")
        #expect(try world.broadcast(id, 3).status == 409)
        #expect(try world.askChannels("DELETE", id).status == 409)
        try world.advance(seconds: 20 * 60)
        try world.run("deliver")
        #expect(try world.broadcast(id, 3).status == 202)
        try world.run("deliver")
        #expect(try world.broadcasts().map { $0.step } == [1, 2, 3])
    }

    @Test(
        "a channel that APNs does not take ends the push, with the reason in its receipt",
        arguments: [
            (["do": "channel", "is": "deleted"], "ChannelNotRegistered"),
            (["do": "channel", "is": "unknown"], "BadChannelId"),
            (["do": "channels", "enabled": false], "BroadcastFeatureNotEnabled"),
        ] as [(JSONObject, String)])
    func refused(command: JSONObject, reason: String) throws {
        let world = try World()
        let id = try world.makeChannel("none")
        var command = command
        if command["do"] == "channel" { command["channel"] = .string(id) }
        _ = try world.broadcast(id, 1)
        try world.simulator.perform(command)
        try world.run("deliver")
        #expect(try world.outcomes(of: id) == ["refused"])
        #expect(try world.receipts().compactMap { $0["reason"]?.string } == [reason])
        #expect(world.spooled().isEmpty)
    }

    @Test("with a key that APNs refuses an update waits, and nothing is managed")
    func badKey() throws {
        let world = try World()
        let id = try world.makeChannel("newest")
        world.variables["APNS_KEY_ID"] = "NOBODYSKEY"
        let answer = try world.askChannels("GET")
        #expect(answer.status == 503 && answer.headers["retry-after"] == "300")
        #expect(try world.broadcast(id, 1).status == 202)
        try world.run("deliver", exitCode: 111)
        #expect(world.spooled().count == 1)
        #expect(try world.askChannels("DELETE", id).status == 409)

        world.variables["APNS_KEY_ID"] = nil
        try world.advance(seconds: 10)
        try world.run("deliver")
        #expect(try world.broadcasts().map { $0.step } == [1])
        #expect(try world.channels("GET")["channels"] == [.string(id)])
    }

    @Test(
        "what APNs says becomes a status",
        arguments: [
            (["status": 400, "reason": "BadRequestParams"], 400, nil),
            (["status": 403, "reason": "InvalidProviderToken"], 503, "300"),
            (["status": 403, "reason": "ExpiredProviderToken"], 503, "1200"),
            (["status": 403, "reason": "BroadcastFeatureNotEnabled"], 503, nil),
            (["status": 429, "reason": "TooManyRequests"], 503, "60"),
            (["status": 429, "reason": "TooManyProviderTokenUpdates"], 503, "1200"),
            (["status": 500], 503, "60"), (["status": 503], 503, "60"),
            (["status": 302, "reason": "Elsewhere"], 502, nil), (["kind": "nonsense"], 502, nil),
            (["kind": "drop"], 503, "10"), (["kind": "reset", "code": 7], 503, "10"),
        ] as [(JSONObject, Int, String?)])
    func statuses(fault: JSONObject, status: Int, retryAfter: String?) throws {
        let world = try World()
        let id = try world.makeChannel("none")
        var command: JSONObject = ["do": "channel-fault"]
        for member in fault.members { command[member.name] = member.value }
        try world.simulator.perform(command)
        let answers = try [
            world.askChannels("GET"), world.askChannels("GET", id),
            world.askChannels("DELETE", id),
            world.askChannels("POST", body: ["messageStoragePolicy": "none"]),
        ]
        for answer in answers {
            #expect(answer.status == status, "\(answer.body)")
            #expect(answer.headers["retry-after"] == retryAfter)
            #expect(answer.json?.object?["success"] == false)
        }
        // What was not deleted after all takes updates.
        try world.simulator.perform(["do": "clear"])
        #expect(try world.broadcast(id, 1).status == 202)
        #expect(try world.channels("GET")["channels"] == [.string(id)])
    }

    @Test("a gateway that cannot be reached gets no channel, and costs no more than ten seconds")
    func unreachable() throws {
        let world = try World()
        world.variables["APNS_MANAGEMENT_BASE_URL"] = "https://127.0.0.1:9"
        let answer = try world.askChannels("GET")
        #expect(answer.status == 503 && answer.headers["retry-after"] == "10")
    }

    @Test("a stand-in's channels are not looked for at Apple")
    func elsewhere() throws {
        let world = try World()
        world.hidden = ["APNS_MANAGEMENT_BASE_URL"]
        let answer = try world.askChannels("GET")
        #expect(answer.status == 503 && answer.body.contains("APNS_MANAGEMENT_BASE_URL"))
    }

    @Test("there are no more channels than APNs allows")
    func limit() throws {
        let world = try World()
        try world.simulator.perform(["do": "channels", "limit": 1])
        let first = try world.makeChannel("none")
        let wish: JSONObject = ["messageStoragePolicy": "none"]
        #expect(try world.askChannels("POST", body: wish).status == 409)
        #expect(try world.askChannels("DELETE", first).status == 200)
        #expect(try world.askChannels("POST", body: wish).status == 201)
    }

    @Test("a channel that was made elsewhere takes updates once it was read here")
    func madeElsewhere() throws {
        let world = try World()
        let id = "dHN0LXNyY2gtY2hubA=="
        try world.simulator.perform([
            "do": "channel", "channel": .string(id), "policy": "newest",
        ])
        #expect(try world.broadcast(id, 1).status == 404)
        #expect(try world.channels("GET", id)["messageStoragePolicy"] == "newest")
        #expect(try world.broadcast(id, 1).status == 202)
        try world.run("deliver")
        #expect(try world.broadcasts().map { $0.step } == [1])
        #expect(try world.askChannels("DELETE", id).status == 200)
    }

    @Test("as much as a broadcast may have arrives, which is more than a device may get")
    func large() throws {
        let world = try World()
        let id = try world.makeChannel("none")
        let text = JSONValue.string(String(repeating: "x", count: 4900))
        let answer = try world.broadcast(id, 1, ["contentState": ["step": 1, "text": text]])
        #expect(answer.status == 202, "\(answer.body)")
        try world.run("deliver")
        #expect(try world.broadcasts().map { $0.step } == [1])
    }
}

extension World {
    /// A broadcast as the stand-in got it.
    fileprivate struct Broadcast {
        let timestamp: Int64
        let event: String
        let step: Int64
    }

    fileprivate func askChannels(
        _ method: String, _ id: String? = nil, body: JSONObject? = nil
    ) throws -> Answer {
        // As it may stand in a path.
        let place = id.map {
            "/" + $0.replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
        }
        let event = message(method, "/api/push/channels\(place ?? "")", body)
        return try Answer(event: startBackend("channels", event).end().stdout)
    }

    /// Asks what is granted.
    fileprivate func channels(_ method: String, _ id: String? = nil) throws -> JSONObject {
        let answer = try askChannels(method, id)
        guard answer.status == 200, let members = answer.json?.object else {
            throw TestFailure("\(answer.status): \(answer.body)")
        }
        return members
    }

    fileprivate func makeChannel(_ policy: String) throws -> String {
        let answer = try askChannels("POST", body: ["messageStoragePolicy": .string(policy)])
        guard answer.status == 201, let id = answer.json?.object?["id"]?.string else {
            throw TestFailure("no channel: \(answer.body)")
        }
        return id
    }

    fileprivate func broadcasting(
        _ channel: String, _ step: Int64, _ more: JSONObject = [:]
    ) -> JSONValue {
        var body: JSONObject = [
            "channel": .string(channel), "contentState": ["step": .integer(step)],
        ]
        for member in more.members { body[member.name] = member.value }
        return message("POST", "/api/push/live-activity", body)
    }

    fileprivate func broadcast(
        _ channel: String, _ step: Int64, _ more: JSONObject = [:]
    ) throws -> Answer {
        try Answer(
            event: startBackend("live-activity", broadcasting(channel, step, more)).end().stdout)
    }

    fileprivate func killDrainer(after milliseconds: Int) throws {
        let program = try start("deliver")
        usleep(UInt32(milliseconds) * 1000)
        program.send(SIGKILL)
        _ = try program.end()
    }

    /// The accepted broadcasts, repeats with a lost answer once.
    fileprivate func broadcasts() throws -> [Broadcast] {
        var ids: Set<String> = []
        return try simulator.pushes().filter { $0["accepted"] == true }.compactMap { push in
            guard let id = push["apns_id"]?.string, ids.insert(id).inserted,
                let aps = push["payload"]?.object?["aps"]?.object,
                let timestamp = aps["timestamp"]?.integer, let event = aps["event"]?.string,
                let step = aps["content-state"]?.object?["step"]?.integer
            else { return nil }
            return Broadcast(timestamp: timestamp, event: event, step: step)
        }
    }

    fileprivate func outcomes(of channel: String) throws -> [String] {
        try receipts().filter { $0["channel"] == .string(channel) }.compactMap {
            $0["outcome"]?.string
        }
    }
}

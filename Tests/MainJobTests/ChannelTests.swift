import Foundation
import JSON
import TestSupport
import Testing
import Turnstone

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
        // The programs that manage channels and the drainer have the same provider token.
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
            let moment = JSONValue.number(JSONNumber(Double(second) + Double(number) / 10))
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

    @Test(
        "an alert that was put off comes with the next update, once, and not with the end",
        arguments: [
            (["status": 429], 16, false), (["status": 503], 20 * 60, false),
            (["status": 429], 0, false), (["status": 503], 0, false), (["status": 429], 16, true),
        ] as [(JSONObject, Int64, Bool)])
    func alertPutOff(fault: JSONObject, pause: Int64, isEnd: Bool) throws {
        let world = try World()
        let id = try world.makeChannel("none")
        var command: JSONObject = ["do": "apns-fault", "count": 1]
        for member in fault.members { command[member.name] = member.value }
        try world.simulator.perform(command)
        _ = try world.broadcast(id, 1, ["alert": ["title": "Goal", "body": "1:0"]])
        try world.run("deliver")
        // Which of the two the drainer meets first depends on the pause.
        try world.advance(seconds: pause)
        _ = try world.broadcast(id, 2, isEnd ? ["event": "end"] : [:])
        try world.run("deliver")
        try world.advance(seconds: 60)
        _ = try world.broadcast(id, 3)
        try world.run("deliver")
        try world.advance(seconds: 3600)
        try world.run("deliver")
        #expect(try world.broadcasts().map { $0.step } == [2, 3])
        // An update lives for 300 s.
        #expect(
            try world.broadcasts().map { $0.alert }
                == (isEnd || pause > 300 ? [nil, nil] : ["Goal", nil]))
        #expect(world.spooled().isEmpty)
    }

    @Test("an alert whose second attempt is under way does not come with the next update too")
    func alertUnderWay() throws {
        let world = try World()
        let id = try world.makeChannel("none")
        try world.simulator.perform(["do": "apns-fault", "status": 429, "count": 1])
        _ = try world.broadcast(id, 1, ["alert": ["title": "Goal", "body": "1:0"]])
        try world.run("deliver")
        try world.advance(seconds: 16)
        try world.simulator.perform(["do": "apns-fault", "kind": "delay", "ms": 2000, "count": 1])
        let deliver = try world.start("deliver")
        while try world.simulator.pushes().count < 2 { usleep(5000) }
        _ = try world.broadcast(id, 2)
        _ = try deliver.end()
        try world.advance(seconds: 5)
        try world.run("deliver")
        #expect(try world.broadcasts().map { $0.step } == [1, 2])
        #expect(try world.broadcasts().map { $0.alert } == ["Goal", nil])
        #expect(world.spooled().isEmpty)
    }

    @Test("an alert that may have arrived does not come a second time")
    func alertInDoubt() throws {
        let world = try World()
        let id = try world.makeChannel("none")
        try world.simulator.perform([
            "do": "apns-fault", "kind": "drop", "accepted": true, "count": 1,
        ])
        _ = try world.broadcast(id, 1, ["alert": ["title": "Goal", "body": "1:0"]])
        try world.run("deliver")
        _ = try world.broadcast(id, 2)
        try world.run("deliver")
        try world.advance(seconds: 3600)
        try world.run("deliver")
        #expect(try world.broadcasts().map { $0.alert } == ["Goal", nil])
    }

    @Test("an end is not overtaken: later states are accepted once it has been sent")
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
            (["status": 302, "reason": "Elsewhere"], 502, nil), (["kind": "malformed"], 502, nil),
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
        // A channel that was not deleted after all takes updates.
        try world.simulator.perform(["do": "clear"])
        #expect(try world.broadcast(id, 1).status == 202)
        #expect(try world.channels("GET")["channels"] == [.string(id)])
    }

    @Test(
        "a gateway that cannot be reached or does not answer is waited for at most ten seconds",
        arguments: [false, true])
    func unreachable(isThere: Bool) throws {
        let world = try World()
        if isThere {
            try world.simulator.perform(["do": "channel-fault", "kind": "stall"])
        } else {
            world.variables["APNS_MANAGEMENT_BASE_URL"] = "https://127.0.0.1:9"
        }
        let start = ContinuousClock.now
        let answer = try world.askChannels("GET")
        #expect(answer.status == 503 && answer.headers["retry-after"] == "10")
        #expect(ContinuousClock.now - start < .seconds(30), "half a minute on a busy machine")
    }

    @Test("what APNs did though its answer was lost can be seen, and done again")
    func lostAnswers() throws {
        let world = try World()
        let lost: JSONObject = [
            "do": "channel-fault", "kind": "drop", "accepted": true, "count": 1,
        ]
        try world.simulator.perform(lost)
        let wish: JSONObject = ["messageStoragePolicy": "none"]
        #expect(try world.askChannels("POST", body: wish).status == 503)
        let id = try #require(try world.channels("GET")["channels"]?.array?.first?.string)
        #expect(try world.channels("GET", id)["messageStoragePolicy"] == "none")
        try world.simulator.perform(lost)
        #expect(try world.askChannels("DELETE", id).status == 503)
        #expect(try world.askChannels("DELETE", id).status == 404)
        #expect(try world.broadcast(id, 1).status == 404)
    }

    @Test(
        "a deletion that was killed half-way can be made again, or taken back",
        arguments: ["GET", "DELETE"])
    func halfDeleted(method: String) throws {
        let world = try World()
        let id = try world.makeChannel("none")
        try world.markDeleted(id)
        #expect(try world.broadcast(id, 1).status == 404)
        #expect(try world.askChannels(method, id).status == 200)
        #expect(try world.broadcast(id, 1).status == (method == "GET" ? 202 : 404))
    }

    @Test("a stand-in's channels are not looked for at Apple")
    func elsewhere() throws {
        let world = try World()
        world.hidden = ["APNS_MANAGEMENT_BASE_URL"]
        let ended = try world.startBackend("channels", world.message("GET", "/api/push/channels"))
            .end()
        #expect(try Answer(event: ended.stdout).status == 503)
        #expect(ended.stderr.contains("APNS_MANAGEMENT_BASE_URL"))
    }

    @Test("a provider token that APNs calls too old is made anew, and the question asked again")
    func renewed() throws {
        let world = try World()
        let id = try world.makeChannel("none")
        try world.advance(seconds: 30 * 60)
        try world.simulator.perform([
            "do": "channel-fault", "status": 403, "reason": "ExpiredProviderToken", "count": 1,
        ])
        #expect(try world.channels("GET")["channels"] == [.string(id)])
        #expect(try world.simulator.apns()["provider_tokens"] == 2)
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

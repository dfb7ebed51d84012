import HTTP2
import JSON
import TestSupport
import Testing
import Turnstone

@Suite struct GatewayFaultTests {
    private let simulator: Simulator
    private let client: Client

    init() throws {
        simulator = try Simulator()
        client = try Client(simulator, .apns)
    }

    /// Sends pushes to the devices `0001`, `0002` and so on, at once.
    private func push(_ count: Int, _ client: Client? = nil) throws -> [ClientEvent] {
        let bearer = try sharedBearer()
        let requests = try (1...count).map { number in
            let digits = String(number, radix: 16)
            let device = String(repeating: "0", count: 4 - digits.count) + digits
            var push = try Push(simulator, device: device, bearer: bearer)
            push["apns-id"] = nil
            return push.fields
        }
        return try (client ?? self.client).ask(requests, body: Push.body)
    }

    /// Only one token may be made in 20 minutes.
    private func sharedBearer() throws -> String {
        if let text = simulator.folder.read("bearer") {
            return String(decoding: text, as: UTF8.self)
        }
        let text = try Bearer(simulator).text()
        try simulator.folder.write(text, to: "bearer")
        return text
    }

    @Test("a connection begins with one stream, and gets more after a valid push")
    func oneStreamFirst() throws {
        #expect(client.maximumStreams == 1)
        var push = try Push(simulator, bearer: sharedBearer())
        push["apns-topic"] = "com.example.turnstone.voip"
        #expect(try client.answer(push.fields, body: push.body).status == 400)
        #expect(client.maximumStreams == 1)
        #expect(try self.push(1).map(\.status) == [200])
        #expect(try self.push(1).map(\.status) == [200])
        #expect(client.maximumStreams == 1000)
    }

    @Test("a valid push that got no answer, and a new number for the others, leave one stream")
    func unanswered() throws {
        try simulator.perform(["do": "apns-fault", "kind": "reset", "accepted": true, "count": 1])
        #expect(try push(1).map(\.status) == [0])
        try simulator.perform(["do": "settings", "streams": 7])
        var push = try Push(simulator, bearer: sharedBearer())
        push["apns-topic"] = nil
        #expect(try client.answer(push.fields, body: push.body).status == 400)
        #expect(client.maximumStreams == 1)
        #expect(try self.push(2).map(\.status) == [200, 200])
        #expect(client.maximumStreams == 7)
    }

    @Test("a requested status comes as often as requested, with its reason")
    func status() throws {
        try simulator.perform(["do": "apns-fault", "status": 503, "count": 2])
        #expect(try push(4).map(\.status) == [503, 503, 200, 200])
        try simulator.perform(["do": "apns-fault", "status": 500, "every": 2])
        #expect(try push(4).map(\.status) == [200, 500, 200, 500])
        try simulator.perform(["do": "clear"])
        #expect(try push(2).map(\.status) == [200, 200])
        try simulator.perform(["do": "apns-fault", "status": 429, "token": "0002"])
        #expect(try push(3).map(\.status) == [200, 429, 200])
        let answers = try simulator.apns()["answers"]
        #expect(answers?.object?["ServiceUnavailable"] == 2)
        #expect(answers?.object?["InternalServerError"] == 2)
        #expect(answers?.object?["TooManyRequests"] == 1)
    }

    @Test(
        "a device is what it is marked as",
        arguments: [
            ("gone", 410, "Unregistered"), ("bad", 400, "BadDeviceToken"),
            ("other-environment", 400, "BadDeviceToken"),
            ("other-topic", 400, "DeviceTokenNotForTopic"), ("good", 200, nil),
        ] as [(String, Int, String?)])
    func marks(mark: String, status: Int, reason: String?) throws {
        try simulator.perform(
            ["do": "token", "token": .string(Push.device), "is": .string(mark), "since": 1_763])
        let push = try Push(simulator)
        let answer = try client.answer(push.fields, body: push.body)
        #expect(answer.status == status)
        #expect(answer.reason == reason)
        #expect(answer.json?["timestamp"] == (status == 410 ? 1_763 : nil))
    }

    @Test("a reset is told apart: refused, or lost")
    func reset() throws {
        try simulator.perform(["do": "apns-fault", "kind": "reset", "code": 7, "count": 1])
        try simulator.perform(
            ["do": "apns-fault", "kind": "reset", "code": 2, "count": 1, "accepted": true])
        #expect(try push(3).map(\.status) == [0, -1, 200])
        #expect(try simulator.apns()["accepted"] == 2)
    }

    @Test("GOAWAY names the last push that was processed")
    func goAway() throws {
        #expect(try push(1).map(\.status) == [200])
        try simulator.perform(["do": "goaway", "after": 4, "reason": "IdleTimeout"])
        #expect(try push(6).map(\.status) == [200, 200, 200, 0, 0, 0])
        let debug = client.goAway.map { String(decoding: $0.debugData, as: UTF8.self) }
        #expect(debug == #"{"reason":"IdleTimeout"}"#)
        #expect(try simulator.apns()["accepted"] == 4)
        #expect(try push(2, Client(simulator, .apns)).map(\.status) == [200, 200])
    }

    @Test("a dropped connection loses the requests in flight")
    func drop() throws {
        #expect(try push(1).map(\.status) == [200])
        try simulator.perform(["do": "apns-fault", "kind": "drop", "accepted": true, "count": 1])
        #expect(try push(1).map(\.status) == [-1])
        #expect(try simulator.apns()["accepted"] == 2)
        #expect(try simulator.apns()["distinct_ids"] == 2)
    }

    @Test("fewer streams are announced to open connections")
    func settings() throws {
        #expect(try push(2).map(\.status) == [200, 200])
        try simulator.perform(["do": "settings", "streams": 3])
        // The client has not seen the limit yet: further streams are refused, and counted.
        let refused = try push(10).count { $0.status == 0 }
        #expect(try simulator.apns()["streams_over_limit"]?.integer == Int64(refused))
        #expect(client.maximumStreams == 3)
        #expect(try push(10).allSatisfy { $0.status == 200 })
    }

    @Test("an early answer does not wait for the body")
    func early() throws {
        try simulator.perform(["do": "early", "status": 503])
        let late = try Client(simulator, .apns)
        #expect(try push(3, late).map(\.status) == [503, 503, 503])
        try simulator.perform(["do": "clear"])
        #expect(try push(1, late).map(\.status) == [200])
    }

    @Test("thousands of pushes are all counted, in a quiet journal too")
    func many() throws {
        #expect(try push(3000).allSatisfy { $0.status == 200 })
        #expect(try simulator.waitForPushes(3000))
        let report = try simulator.apns()
        #expect(report["distinct_ids"] == 3000)
        #expect(report["repeated_ids"] == 0)
        #expect(report["streams_over_limit"] == 0)
        #expect(try simulator.pushes().count == 3000)
    }
}

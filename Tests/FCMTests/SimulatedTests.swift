import Credentials
import JSON
import PushServices
import Store
import TestSupport
import Testing
import Turnstone
import Unix

@testable import FCM

/// The sender against the simulator, which checks every message.
@Suite struct SimulatedTests {
    private let simulator: Simulator
    private let sender: FCMSender
    private let folder = TemporaryFolder()

    init() throws {
        simulator = try Simulator(["--services", "apns,fcm"])
        var variables = Variables()
        for (name, value) in simulator.environment { variables.offer(name, value) }
        variables.offer("TURNSTONE_STATE", "\(folder.path)/state")
        let settings = try #require(try FCMSettings(variables))
        sender = try FCMSender(
            settings, store: State(variables).accessTokens(settings) { Timestamp.systemNow })
    }

    /// Sends messages to the devices `d1`, `d2` and so on.
    ///
    /// - Returns: the verdicts in the devices' order.
    private func send(
        _ count: Int, _ payload: Payload = Payload(aps: ["alert": "Hello"]),
        type: PushType = .alert, overrides: JSONObject? = nil
    ) throws -> [FCMVerdict] {
        let message = try FCMMessage(
            PushContent(type: type, priority: 10, collapseID: "c", payload: payload), id: "n1",
            expires: Timestamp.systemNow + .days(40), overrides: overrides)
        for number in 1...count {
            let token = try #require(DeviceToken("d\(number)", on: .android))
            sender.submit(
                FCMRequest(message, to: token, now: Timestamp.systemNow), for: Numbered(number))
        }
        var verdicts: [Int: FCMVerdict] = [:]
        let end = Instant.now + .seconds(30)
        while sender.backlog > 0, Instant.now < end {
            for settled in try sender.step(pause: .milliseconds(100)) {
                verdicts[(settled.push as? Numbered)?.number ?? 0] = settled.verdict
            }
        }
        #expect(verdicts.count == count)
        return verdicts.sorted { $0.key < $1.key }.map(\.value)
    }

    private func report() throws -> JSONObject {
        try simulator.perform(["do": "report"])["fcm"]?.object ?? [:]
    }

    @Test("answers in gzip are read: the access token, and which device is gone")
    func zipped() throws {
        try simulator.perform(["do": "fcm-answers", "gzip": true])
        try simulator.perform(["do": "fcm-token", "token": "d2", "is": "gone"])
        let verdicts = try send(2)
        #expect(verdicts.map(\.reason) == [nil, "UNREGISTERED"])
    }

    @Test("everything that a message can have is accepted")
    func everything() throws {
        let aps: JSONObject = [
            "alert": [
                "title": "T", "subtitle": "S", "body": "B", "title-loc-key": "TK",
                "title-loc-args": ["a"], "loc-key": "BK", "loc-args": ["b"],
            ],
            "badge": 3, "sound": ["critical": 1, "name": "ding"], "thread-id": "g",
            "category": "TURN", "interruption-level": "critical", "target-content-id": "w",
        ]
        let data: JSONObject = [
            "from": "a", "message_type": 1, "google.x": [1], "gcm": .null, "n": 1,
            "image": "https://example.org/a.png", "fcm_options": ["analytics_label": "a.b"],
        ]
        let overrides: JSONObject = [
            "notification": ["channel_id": "turns", "visibility": "PRIVATE", "color": "#102030"],
            "restricted_package_name": "org.example.app",
        ]
        let verdicts = try send(1, Payload(aps: aps, data: data), overrides: overrides)
        #expect(verdicts.map(\.status) == [200])
        for aps: JSONObject in [["badge": 1], ["content-available": 1], ["sound": "ding"]] {
            #expect(try send(1, Payload(aps: aps)).map(\.status) == [200])
        }
        let long = String(repeating: "ü", count: 9000)
        #expect(
            try send(1, Payload(aps: ["alert": ["title": "T", "body": .string(long)]])).map(
                \.status)
                == [200])
        #expect(try report()["accepted"] == 5)
    }

    @Test("each device's state has its outcome")
    func devices() throws {
        for (device, state) in [("d2", "gone"), ("d3", "other-project"), ("d4", "bad")] {
            try simulator.perform(
                ["do": "fcm-token", "token": .string(device), "is": .string(state)])
        }
        let outcomes = try send(5).map(\.outcome)
        guard case .accepted(.some) = outcomes[0], case .gone = outcomes[1],
            case .accepted(.some) = outcomes[4]
        else {
            Issue.record("\(outcomes)")
            return
        }
        #expect(outcomes[2] == .mismatched && outcomes[3] == .badToken)
    }

    @Test("a wrong override is refused, and removes no device")
    func wrongOverride() throws {
        #expect(try send(1, overrides: ["colour": "red"]).map(\.outcome) == [.refused])
    }

    @Test("through refused streams, GOAWAYs and lost tokens, each message is accepted once")
    func faults() throws {
        // Few enough that no message is refused at each of its four attempts.
        try simulator.perform([
            "do": "fcm-fault", "kind": "reset", "code": 7, "every": 7, "count": 6,
        ])
        try simulator.perform(
            ["do": "goaway", "service": "fcm", "after": 60])
        #expect(try send(150).allSatisfy { $0.status == 200 })
        try simulator.perform(["do": "clear"])
        try simulator.perform(["do": "oauth", "revoke": true])
        #expect(try send(150).allSatisfy { $0.status == 200 })
        let report = try report()
        #expect(report["accepted"] == 300)
        #expect(report["access_tokens"] == 2)
        #expect(report["streams_over_limit"] == 0)
    }

    @Test("a message whose answer is lost is in doubt, and its repetition has the same tag")
    func lostAnswer() throws {
        // The connection after one without any answer would have to wait.
        #expect(try send(2).map(\.status) == [200, 200])
        try simulator.perform(
            ["do": "fcm-fault", "kind": "drop", "accepted": true, "count": 1])
        #expect(try send(1).map(\.outcome) == [.noVerdict])
        #expect(try send(1).map(\.status) == [200])
        let report = try report()
        #expect(report["accepted"] == 4 && report["repeated_ids"] == 1)
    }

    @Test("a quota's pause is the one that FCM asks for")
    func quota() throws {
        try simulator.perform(
            ["do": "fcm-fault", "status": 429, "retry_after": 7, "token": "d1"])
        try simulator.perform(["do": "fcm-fault", "status": 503, "token": "d2"])
        #expect(
            try send(2).map(\.outcome) == [
                .laterAsAsked(pause: .seconds(7)), .later(pause: .seconds(1)),
            ])
    }
}

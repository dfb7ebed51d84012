import HTTP2
import JSON
import TestSupport
import Testing
import Turnstone

/// The stand-in for broadcasts, and for where their channels are managed.
@Suite struct ChannelTests {
    /// A channel that commands have made.
    private static let channel = "++//AAAB/w=="
    private static let bundle = "com.example.turnstone"

    private static func management(
        _ simulator: Simulator, _ method: String, _ path: String = "channels",
        channel: String? = nil, bearer: String? = nil
    ) throws -> [(String, String)] {
        var fields = [
            (":method", method), (":scheme", "https"), (":authority", "127.0.0.1"),
            (":path", "/1/apps/\(bundle)/\(path)"),
            ("authorization", try bearer ?? Bearer(simulator).text()),
        ]
        if let channel { fields.append(("apns-channel-id", channel)) }
        return fields
    }

    private static let wish = #"{"message-storage-policy":1,"push-type":"LiveActivity"}"#

    @Test("a channel is made, read, listed and deleted")
    func life() throws {
        let simulator = try Simulator()
        let client = try Client(simulator, .management)
        let bearer = try Bearer(simulator).text()
        func ask(
            _ method: String, _ path: String = "channels", _ id: String? = nil, body: String = ""
        ) throws -> ClientEvent.Answer {
            let fields = try Self.management(
                simulator, method, path, channel: id, bearer: bearer)
            return try client.answer(fields, body: body)
        }
        let made = try ask("POST", body: Self.wish)
        let id = try #require(made.fields["apns-channel-id"])
        #expect(made.status == 201 && made.body.isEmpty)
        let read = try ask("GET", "channels", id)
        #expect(read.status == 200)
        #expect(read.json == ["message-storage-policy": 1, "push-type": "LiveActivity"])
        let listed = try ask("GET", "all-channels")
        #expect(listed.json == ["channels": [.string(id)]])
        let deleted = try ask("DELETE", "channels", id)
        #expect(deleted.status == 204 && deleted.body.isEmpty)
        let again = try ask("GET", "channels", id)
        #expect(again.status == 400 && again.reason == "ChannelNotRegistered")
        let twice = try ask("DELETE", "channels", id)
        #expect(twice.status == 404 && twice.reason == "BadPath")
    }

    @Test(
        "a wrong question gets its reason",
        arguments: [
            ("POST", "channels", nil, "{", 400, "BadRequestPayload"),
            ("POST", "channels", nil, "", 400, "BadRequestPayload"),
            ("POST", "channels", nil, #"{"message-storage-policy":1}"#, 400, "MissingPushType"),
            (
                "POST", "channels", nil, #"{"message-storage-policy":1,"push-type":"alert"}"#, 400,
                "InvalidPushType"
            ),
            ("POST", "channels", nil, #"{"push-type":"LiveActivity"}"#, 400, "BadRequestParams"),
            (
                "POST", "channels", nil,
                #"{"message-storage-policy":2,"push-type":"LiveActivity"}"#,
                400, "BadRequestParams"
            ),
            (
                "POST", "channels", nil,
                #"{"message-storage-policy":1,"push-type":"LiveActivity","name":"x"}"#, 400,
                "BadRequestPayload"
            ),
            ("POST", "channels", channel, wish, 400, "BadRequestParams"),
            ("GET", "channels", nil, "", 400, "MissingChannelId"),
            ("GET", "channels", "AAAA", "", 400, "BadChannelId"),
            ("GET", "channels", "a.b", "", 400, "BadChannelId"),
            ("GET", "channels", channel, "{}", 400, "BadRequestPayload"),
            ("DELETE", "channels", nil, "", 400, "MissingChannelId"),
            ("DELETE", "channels", "AAAA", "", 404, "BadPath"),
            ("PUT", "channels", channel, "", 405, "MethodNotAllowed"),
            ("POST", "all-channels", nil, "", 405, "MethodNotAllowed"),
            ("GET", "channel", nil, "", 404, "BadPath"),
            ("GET", "channels/x", nil, "", 404, "BadPath"),
        ] as [(String, String, String?, String, Int, String)])
    func question(
        method: String, path: String, channel: String?, body: String, status: Int, reason: String
    ) throws {
        let simulator = try Self.simulator()
        let fields = try Self.management(simulator, method, path, channel: channel)
        let answer = try Client(simulator, .management).answer(fields, body: body)
        #expect(answer.status == status)
        #expect(answer.reason == reason)
    }

    @Test("a caller must have the app's key and name")
    func caller() throws {
        let simulator = try Self.simulator()
        var fields = try Self.management(simulator, "GET", "all-channels")
        fields[4].1 = "bearer x"
        let stranger = try Client(simulator, .management).answer(fields)
        #expect(stranger.status == 403 && stranger.reason == "InvalidProviderToken")
        fields.remove(at: 4)
        let nobody = try Client(simulator, .management).answer(fields)
        #expect(nobody.status == 403 && nobody.reason == "MissingProviderToken")
        var other = try Self.management(simulator, "GET", "all-channels")
        other[3].1 = "/1/apps/org.example.other/all-channels"
        let elsewhere = try Client(simulator, .management).answer(other)
        #expect(elsewhere.status == 400 && elsewhere.reason == "TopicMismatch")
    }

    // MARK: Broadcasts

    private static let update =
        #"{"aps":{"timestamp":1763700000,"event":"update","content-state":{}}}"#

    private static func broadcast(_ simulator: Simulator) throws -> Push {
        var push = try Push(simulator)
        push[":path"] = "/4/broadcasts/apps/\(bundle)"
        push["apns-topic"] = nil
        push["apns-id"] = nil
        push["apns-channel-id"] = channel
        push["apns-request-id"] = PushValidationTests.id
        push["apns-push-type"] = "liveactivity"
        push["apns-expiration"] = "0"
        push.body = update
        return push
    }

    private static func simulator() throws -> Simulator {
        let simulator = try Simulator()
        try simulator.perform([
            "do": "channel", "channel": .string(channel), "policy": "none",
        ])
        return simulator
    }

    @Test("a broadcast in order is taken, and reported with its channel")
    func taken() throws {
        let simulator = try Self.simulator()
        let push = try Self.broadcast(simulator)
        let answer = try Client(simulator, .apns).answer(push.fields, body: push.body)
        #expect(answer.status == 200 && answer.body.isEmpty)
        #expect(answer.fields["apns-request-id"] == PushValidationTests.id)
        let reported = try #require(try simulator.pushes().first)
        #expect(reported["channel"] == .string(Self.channel) && reported["token"] == nil)
        #expect(reported["accepted"] == true)
    }

    @Test(
        "a wrong field of a broadcast gets its reason",
        arguments: [
            (":method", "GET", 405, "MethodNotAllowed"),
            (":path", "/4/broadcasts/apps/", 404, "BadPath"),
            (":path", "/4/broadcasts", 404, "BadPath"),
            (":path", "/4/broadcasts/apps/org.example.other", 400, "TopicMismatch"),
            ("apns-channel-id", nil, 400, "MissingChannelId"),
            ("apns-channel-id", "AAAA", 400, "BadChannelId"),
            ("apns-push-type", nil, 400, "MissingPushType"),
            ("apns-push-type", "alert", 400, "InvalidPushType"),
            ("apns-priority", nil, 400, "BadPriority"), ("apns-priority", "1", 400, "BadPriority"),
            ("apns-expiration", nil, 400, "BadExpirationDate"),
            ("apns-expiration", "1763700000", 400, "BadExpirationDate"),
            ("apns-request-id", "1", 400, "BadMessageId"),
            ("apns-topic", bundle, 400, "BadTopic"),
            ("apns-collapse-id", "a", 400, "BadCollapseId"),
            ("authorization", nil, 403, "MissingProviderToken"),
            ("authorization", "bearer x", 403, "InvalidProviderToken"),
        ] as [(String, String?, Int, String)])
    func field(name: String, value: String?, status: Int, reason: String) throws {
        let simulator = try Self.simulator()
        var push = try Self.broadcast(simulator)
        push[name] = value
        let answer = try Client(simulator, .apns).answer(push.fields, body: push.body)
        #expect(answer.status == status)
        #expect(answer.reason == reason)
        #expect(try simulator.apns()["accepted"] == 0)
    }

    @Test(
        "a channel that keeps the newest update takes one for eight hours",
        arguments: [(7, nil), (9, "BadExpirationDate")] as [(Int64, String?)])
    func kept(hours: Int64, reason: String?) throws {
        let simulator = try Self.simulator()
        try simulator.perform([
            "do": "channel", "channel": .string(Self.channel), "policy": "newest",
        ])
        var push = try Self.broadcast(simulator)
        push["apns-expiration"] = "\(Timestamp.systemNow.seconds + hours * 3600)"
        let answer = try Client(simulator, .apns).answer(push.fields, body: push.body)
        #expect(answer.reason == reason)
    }

    @Test(
        "a broadcast's body has its own rules",
        arguments: [
            (update, nil), ("", "PayloadEmpty"),
            (
                #"{"aps":{"timestamp":1,"event":"start","content-state":{},"attributes-type":"a","#
                    + #""attributes":{},"alert":"a"}}"#, "BadPayload"
            ),
            (large(5120), nil), (large(5121), "PayloadTooLarge"),
        ])
    func body(body: String, reason: String?) throws {
        let simulator = try Self.simulator()
        let push = try Self.broadcast(simulator)
        let answer = try Client(simulator, .apns).answer(push.fields, body: body)
        #expect(answer.reason == reason)
    }

    /// An update of so many bytes.
    private static func large(_ size: Int) -> String {
        let start = #"{"aps":{"timestamp":1,"event":"update","content-state":{"a":""#
        return start + String(repeating: "a", count: size - start.utf8.count - 4) + #""}}}"#
    }
}

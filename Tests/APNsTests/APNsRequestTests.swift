import Drain
import HTTP2
import JSON
import Testing
import Turnstone

@testable import APNs

@Suite struct APNsRequestTests {
    private static let id = "01234567-89ab-8def-8123-0123456789ab"
    private static let alert = Payload(aps: ["alert": "Hello"])

    @Test(arguments: [
        (PushType.alert, "a.b"), (.background, "a.b"),
        (.liveActivity, "a.b.push-type.liveactivity"),
        (.widgets, "a.b.push-type.widgets"), (.controls, "a.b.push-type.controls"),
        (.location, "a.b.location-query"), (.voip, "a.b.voip"), (.pushToTalk, "a.b.voip-ptt"),
        (.complication, "a.b.complication"), (.fileProvider, "a.b.pushkit.fileprovider"),
    ])
    func theTopicFollowsTheType(type: PushType, topic: String) {
        #expect(type.topic(of: "a.b") == topic)
    }

    @Test func theHeaderHasAllFieldsThatAPNsRequires() throws {
        let request = try request(
            expiration: Timestamp(milliseconds: 1_800_000_000_999), collapseID: "c")
        var fields = HeaderFields()
        request.writeFields(&fields, authority: "host:2197", bearer: "bearer t")
        let expected = [
            ":method": "POST", ":scheme": "https", ":authority": "host:2197",
            ":path": "/3/device/ab12",
            "authorization": "bearer t", "apns-push-type": "alert", "apns-topic": "org.example.app",
            "apns-priority": "10", "apns-id": Self.id, "apns-expiration": "1800000000",
            "apns-collapse-id": "c", "content-length": "25",
        ]
        for (name, value) in expected { #expect(fields[name] == value, "\(name)") }
    }

    @Test func aBroadcastNamesItsChannelAndNoTopic() throws {
        let channel = try #require(ChannelID("++//AAAB/w=="))
        let payload = try APNsPayload(
            Payload(aps: ["event": "update"]), type: .liveActivity, limit: PushType.broadcastLimit)
        let request = try APNsRequest(
            channel: channel, id: pushID(notification: "n", channel: channel), payload: payload,
            bundle: "org.example.app", priority: 5, expiration: Timestamp(milliseconds: 0))
        var fields = HeaderFields()
        request.writeFields(&fields, authority: "host", bearer: "bearer t")
        let expected = [
            ":path": "/4/broadcasts/apps/org.example.app", "apns-channel-id": "++//AAAB/w==",
            "apns-push-type": "liveactivity", "apns-priority": "5", "apns-expiration": "0",
            "apns-request-id": pushID(notification: "n", channel: channel),
        ]
        for (name, value) in expected { #expect(fields[name] == value, "\(name)") }
        for name in ["apns-topic", "apns-id", "apns-collapse-id"] { #expect(fields[name] == nil) }
    }

    @Test(
        "a push that a channel would not accept is refused here",
        arguments: [
            (PushType.alert, 5, "InvalidPushType"), (.liveActivity, 1, "BadPriority"),
            (.liveActivity, 10, nil),
        ] as [(PushType, Int, String?)])
    func broadcast(type: PushType, priority: Int, reason: String?) throws {
        var cause: String?
        do {
            _ = try APNsRequest(
                channel: #require(ChannelID("AAAA")), id: Self.id,
                payload: APNsPayload(Self.alert, type: type), bundle: "a", priority: priority,
                expiration: Timestamp(milliseconds: 0))
        } catch let failure as Failure { cause = failure.cause }
        #expect(cause == reason)
    }

    @Test func unsetFieldsAreNotSent() throws {
        var fields = HeaderFields()
        try request().writeFields(&fields, authority: "host", bearer: "bearer t")
        #expect(fields["apns-expiration"] == nil)
        #expect(fields["apns-collapse-id"] == nil)
    }

    @Test(
        "a push that APNs would refuse is refused here",
        arguments: [
            ("", 10, nil, 0, "BadMessageId"), (id.uppercased(), 10, nil, 0, "BadMessageId"),
            (id + "0", 10, nil, 0, "BadMessageId"), (id, 7, nil, 0, "BadPriority"),
            (id, 10, "", 0, "BadCollapseId"),
            (id, 10, String(repeating: "a", count: 65), 0, "BadCollapseId"),
            (id, 10, "a\r\nb", 0, "BadCollapseId"), (id, 10, "é", 0, "BadCollapseId"),
            (id, 10, nil, -1, "BadExpirationDate"),
        ])
    func refused(id: String, priority: Int, collapseID: String?, seconds: Int64, reason: String)
        throws
    {
        let failure = try #require(throws: Failure.self) {
            try request(
                id: id, priority: priority, expiration: Timestamp(seconds: seconds),
                collapseID: collapseID)
        }
        #expect(failure.cause == reason)
    }

    @Test(
        "a background push has nothing visible and priority 5",
        arguments: [
            (#"{"aps":{"content-available":1},"a":2}"#, 5, nil),
            (#"{"aps":{"content-available":1}}"#, 10, "BadPriority"),
            (#"{"aps":{"content-available":1,"badge":3}}"#, 5, "BadPayload"),
            (#"{"aps":{"alert":"x"}}"#, 5, "BadPayload"),
        ])
    func background(text: String, priority: Int, reason: String?) throws {
        var cause: String?
        do {
            let json = try JSON.parse(Array(text.utf8))
            let payload = try APNsPayload(#require(Payload(json)), type: .background)
            _ = try request(payload: payload, priority: priority)
        } catch let failure as Failure { cause = failure.cause }
        #expect(cause == reason)
    }

    @Test func theSamePushHasTheSameIdentifier() throws {
        let token = try #require(DeviceToken("ab12"))
        let other = try #require(DeviceToken("ab13"))
        let id = pushID(notification: "n", token: token)
        #expect(id == pushID(notification: "n", token: token))
        #expect(id != pushID(notification: "n", token: other))
        #expect(id != pushID(notification: "m", token: token))
        #expect(throws: Never.self) { try request(id: id) }
    }

    private func request(
        id: String = id, payload: APNsPayload? = nil, priority: Int = 10,
        expiration: Timestamp? = nil, collapseID: String? = nil
    ) throws -> APNsRequest {
        try APNsRequest(
            token: #require(DeviceToken("ab12")), id: id,
            payload: payload ?? APNsPayload(Self.alert, type: .alert), bundle: "org.example.app",
            priority: priority, expiration: expiration, collapseID: collapseID)
    }
}

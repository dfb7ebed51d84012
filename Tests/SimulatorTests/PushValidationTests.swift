import JSON
import TestSupport
import Testing
import Turnstone

@Suite struct PushValidationTests {
    /// A fault in the header fields, and the reason that answers it.
    struct Row: CustomTestStringConvertible {
        let name: String
        let value: String?
        let status: Int
        let reason: String

        init(_ name: String, _ value: String?, _ status: Int, _ reason: String) {
            self.name = name
            self.value = value
            self.status = status
            self.reason = reason
        }

        var testDescription: String { "\(name): \((value ?? "missing").prefix(40))" }
    }

    static let id = "0a1b2c3d-0000-4000-8000-0123456789ab"

    @Test(
        "a wrong field gets its reason",
        arguments: [
            Row(":method", "PUT", 405, "MethodNotAllowed"),
            Row(":path", "/3/devices/abab", 404, "BadPath"),
            Row(":path", "/", 404, "BadPath"),
            Row(":path", "/3/device/", 400, "MissingDeviceToken"),
            Row(":path", "/3/device/abc", 400, "BadDeviceToken"),
            Row(":path", "/3/device/xyzz", 400, "BadDeviceToken"),
            Row("apns-id", id.uppercased(), 400, "BadMessageId"),
            Row("apns-id", "1", 400, "BadMessageId"),
            Row("apns-id", id.replacing("-", with: ""), 400, "BadMessageId"),
            Row("apns-topic", nil, 400, "MissingTopic"),
            Row("apns-topic", "org.example.other", 400, "TopicDisallowed"),
            Row("apns-topic", "com.example.turnstone.voip", 400, "BadTopic"),
            Row("apns-push-type", nil, 400, "InvalidPushType"),
            Row("apns-push-type", "Alert", 400, "InvalidPushType"),
            Row("apns-push-type", "background", 400, "BadPriority"),
            Row("apns-push-type", "widgets", 400, "BadTopic"),
            Row("apns-priority", "0", 400, "BadPriority"),
            Row("apns-priority", "high", 400, "BadPriority"),
            Row("apns-expiration", "soon", 400, "BadExpirationDate"),
            Row("apns-expiration", "-1", 400, "BadExpirationDate"),
            Row("apns-expiration", "1763700000000", 400, "BadExpirationDate"),
            Row("apns-collapse-id", String(repeating: "a", count: 65), 400, "BadCollapseId"),
            Row("apns-collapse-id", String(repeating: "é", count: 33), 400, "BadCollapseId"),
            Row("content-encoding", "gzip", 400, "BadPayload"),
            Row("authorization", nil, 403, "MissingProviderToken"),
            Row("authorization", "bearer x", 403, "InvalidProviderToken"),
            Row("authorization", "bearer e30.e30.AAAA", 403, "InvalidProviderToken"),
        ])
    func field(row: Row) throws {
        let simulator = try Simulator()
        var push = try Push(simulator)
        push[row.name] = row.value
        let answer = try Client(simulator, .apns).answer(push.fields, body: push.body)
        #expect(answer.status == row.status)
        #expect(answer.reason == row.reason)
    }

    @Test(
        "a right field is taken",
        arguments: [
            ("apns-priority", "5"), ("apns-priority", "1"), ("apns-expiration", "0"),
            ("apns-expiration", "1763700000"), ("apns-id", id),
            ("apns-collapse-id", String(repeating: "a", count: 64)),
            (":path", "/3/device/ab"), (":path", "/3/device/" + String(repeating: "0", count: 512)),
        ])
    func rightField(name: String, value: String) throws {
        let simulator = try Simulator()
        var push = try Push(simulator)
        push[name] = value
        let answer = try Client(simulator, .apns).answer(push.fields, body: push.body)
        #expect(answer.status == 200)
        #expect(answer.body.isEmpty)
        #expect(answer.fields["apns-id"] == push["apns-id"])
    }

    @Test(
        "a body is checked",
        arguments: [
            ("", 400, "PayloadEmpty"), ("{}", 400, "PayloadEmpty"), ("[]", 400, "PayloadEmpty"),
            ("{", 400, "BadPayload"), (#"{"aps":1}"#, 400, "BadPayload"),
            (#"{"aps":{}}"#, 400, "BadPayload"), (#"{"aps":{"alert":1}}"#, 400, "BadPayload"),
            (#"{"aps":{"alert":{}}}"#, 400, "BadPayload"),
            (#"{"aps":{"alert":{"titel":"a"}}}"#, 400, "BadPayload"),
            (#"{"aps":{"alert":{"title":1}}}"#, 400, "BadPayload"),
            (#"{"aps":{"badge":"1"}}"#, 400, "BadPayload"),
            (#"{"aps":{"badge":-1}}"#, 400, "BadPayload"),
            (#"{"aps":{"badge":1.5}}"#, 400, "BadPayload"),
            (#"{"aps":{"alert":"a","sound":{"volume":2}}}"#, 400, "BadPayload"),
            (#"{"aps":{"alert":"a","sounds":"default"}}"#, 400, "BadPayload"),
            (#"{"aps":{"alert":"a","content-available":true}}"#, 400, "BadPayload"),
            (#"{"aps":{"badge":1,"mutable-content":1}}"#, 400, "BadPayload"),
            (#"{"aps":{"alert":"a","interruption-level":"loud"}}"#, 400, "BadPayload"),
            (#"{"aps":{"alert":"a","alert":"b"}}"#, 400, "BadPayload"),
            (#"{"aps":{"badge":0,"sound":{"name":"a","critical":1,"volume":0.5}}}"#, 200, nil),
            (#"{"aps":{"alert":{"loc-key":"a","loc-args":["b"]}},"x":[1]}"#, 200, nil),
        ] as [(String, Int, String?)])
    func body(text: String, status: Int, reason: String?) throws {
        let simulator = try Simulator()
        let push = try Push(simulator)
        let answer = try Client(simulator, .apns).answer(push.fields, body: text)
        #expect(answer.status == status)
        #expect(answer.reason == reason)
    }

    @Test("a body may have 4096 bytes, and one for VoIP 5120", arguments: [0, 1])
    func size(more: Int) throws {
        let simulator = try Simulator()
        let client = try Client(simulator, .apns)
        let bearer = try Bearer(simulator).text()
        for (kind, suffix, limit) in [("alert", "", 4096), ("voip", ".voip", 5120)] {
            var push = try Push(simulator, bearer: bearer)
            push["apns-push-type"] = kind
            push["apns-topic"] = (push["apns-topic"] ?? "") + suffix
            let frame = #"{"aps":{"alert":""}}"#.utf8.count
            let text = String(repeating: "x", count: limit - frame + more)
            let answer = try client.answer(push.fields, body: #"{"aps":{"alert":"\#(text)"}}"#)
            #expect(answer.status == (more == 0 ? 200 : 413))
        }
    }

    @Test(
        "a push of a kind has what the kind needs",
        arguments: [
            ("background", "", "5", #"{"aps":{"content-available":1},"x":1}"#, 200),
            ("background", "", "5", #"{"aps":{"content-available":1,"badge":1}}"#, 400),
            ("background", "", "5", #"{"aps":{}}"#, 400),
            (
                "liveactivity", ".push-type.liveactivity", "5",
                #"{"aps":{"timestamp":1,"event":"update","content-state":{}}}"#, 200
            ),
            (
                "liveactivity", ".push-type.liveactivity", "1",
                #"{"aps":{"timestamp":1,"event":"update","content-state":{}}}"#, 400
            ),
            (
                "liveactivity", ".push-type.liveactivity", "10",
                #"{"aps":{"timestamp":1,"event":"start","content-state":{}}}"#, 400
            ),
            (
                "liveactivity", ".push-type.liveactivity", "10",
                #"{"aps":{"timestamp":1000000000000,"event":"end","content-state":{}}}"#, 400
            ),
        ])
    func kind(kind: String, suffix: String, priority: String, body: String, status: Int) throws {
        let simulator = try Simulator()
        var push = try Push(simulator)
        push["apns-push-type"] = kind
        push["apns-topic"] = (push["apns-topic"] ?? "") + suffix
        push["apns-priority"] = priority
        let answer = try Client(simulator, .apns).answer(push.fields, body: body)
        #expect(answer.status == status)
    }

    @Test("a header that comes twice is refused")
    func twice() throws {
        let simulator = try Simulator()
        var push = try Push(simulator)
        push.fields.append(("apns-priority", "10"))
        let answer = try Client(simulator, .apns).answer(push.fields, body: push.body)
        #expect(answer.reason == "DuplicateHeaders")
    }

    @Test("a push without an id gets one")
    func made() throws {
        let simulator = try Simulator()
        var push = try Push(simulator)
        push["apns-id"] = nil
        let answer = try Client(simulator, .apns).answer(push.fields, body: push.body)
        #expect(answer.fields["apns-id"]?.utf8.count == 36)
        #expect(answer.fields["apns-unique-id"]?.utf8.count == 36)
    }
}

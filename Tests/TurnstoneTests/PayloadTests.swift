import JSON
import Testing
import Turnstone

@Suite struct PayloadTests {
    @Test(
        "a payload is an object with an object aps in it",
        arguments: [
            (#"{"aps":{}}"#, true), (#"{"a":1,"aps":{"alert":"x"}}"#, true), (#"{"a":1}"#, false),
            ("[]", false), (#"{"aps":1}"#, false), (#"{"aps":null}"#, false),
        ])
    func form(text: String, isPayload: Bool) throws {
        let json = try JSON.parse(Array(text.utf8))
        let payload = Payload(json)
        #expect((payload != nil) == isPayload)
        if let payload { #expect(payload.json == json) }
    }

    @Test func aBadgeReplacesOnlyTheBadge() {
        let payload = Payload(aps: ["alert": "x", "badge": 1, "sound": "s"], data: ["a": 2])
        #expect(
            payload.with(badge: 7)
                == Payload(aps: ["alert": "x", "badge": 7, "sound": "s"], data: ["a": 2]))
        #expect(payload.with(badge: 7).badge == 7)
    }

    @Test(
        "the alert's text is the alert, or its body",
        arguments: [
            ("x", "x", "y"), (["title": "t", "body": "b"], "b", ["title": "t", "body": "y"]),
            (["loc-key": "k"], nil, ["loc-key": "k", "body": "y"]),
        ] as [(JSONValue, String?, JSONValue)])
    func alertText(alert: JSONValue, text: String?, replaced: JSONValue) {
        let payload = Payload(aps: ["alert": alert])
        #expect(payload.alertText == text)
        #expect(payload.with(alertText: "y").aps["alert"] == replaced)
    }

    @Test("a payload is cut to any limit that it can be cut to")
    func cut() throws {
        let payload = Payload(aps: ["alert": "Hé\u{301}llo, 👩‍👩‍👧‍👦\"\n"], data: ["x": 1])
        let shortest = payload.with(alertText: "…").text.count
        for limit in 0...payload.text.count {
            let cut = payload.cut(to: limit)
            #expect((cut != nil) == (limit >= shortest))
            if let cut { #expect(cut.text.count <= limit) }
        }
        #expect(payload.cut(to: payload.text.count) == payload)
        #expect(Payload(aps: [:], data: ["x": 1]).cut(to: 10) == nil)
    }

    @Test(
        "what shows nothing or cannot wait passes mute and quiet hours",
        arguments: [
            (PushType.alert, ["alert": "x"], false), (.alert, ["sound": "x"], false),
            (.alert, ["badge": 1], true), (.background, ["content-available": 1], true),
            (.alert, ["alert": "x", "interruption-level": "time-sensitive"], true),
            (.alert, ["alert": "x", "interruption-level": "critical"], true),
            (.alert, ["alert": "x", "interruption-level": "active"], false),
            (.voip, ["alert": "x"], true),
        ] as [(PushType, JSONObject, Bool)])
    func exempt(type: PushType, aps: JSONObject, isExempt: Bool) {
        let content = PushContent(
            type: type, priority: 5, collapseID: nil, payload: Payload(aps: aps))
        for service in [PushService.apns, .fcm] {
            #expect(content.isExempt(on: service) == isExempt)
        }
    }
}

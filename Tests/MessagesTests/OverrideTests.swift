import Edge
import JSON
import TestSupport
import Testing
import Turnstone

@testable import Messages

/// What a message says about single push services, and whose tokens it names.
@Suite struct OverrideTests {
    private static let now = Timestamp(milliseconds: 1_795_262_400_000)

    private static func message(_ text: String) throws -> Message {
        var fields = Fields(try #require(try JSON.parse(Array(text.utf8)).object))
        let message = try Message(&fields, kind: "message", now: now)
        try fields.finish()
        return message
    }

    @Test("a template may fill what is different for single services")
    func template() throws {
        let template = try Template(
            TemplateText(
                event: "e",
                text: ##"""
                    {"example": {"a": "A", "icon": "https://a.b/c"}, "message": {"title": "{a}",
                     "apns": {"aps": {"sound": null}, "who": "{a}"},
                     "android": {"notification": {"color": "#aabbcc"}},
                     "web": {"icon": "{icon}", "body": null}}}
                    """##))
        try template.check(now: Self.now)
        var fields = Fields(
            try template.filled(with: ["a": "Ann", "icon": "https://x.y/z"]))
        let push = try Message(&fields, kind: "e", now: Self.now).push
        #expect(push.overrides.apns == ["aps": ["sound": .null], "who": "Ann"])
        #expect(push.overrides.android == ["notification": ["color": "#aabbcc"]])
        #expect(push.overrides.web == ["icon": "https://x.y/z", "body": .null])
        var wrong = Fields(try template.filled(with: ["a": "Ann", "icon": "no address"]))
        #expect(throws: Failure.self) { try Message(&wrong, kind: "e", now: Self.now) }
    }

    @Test("the body is cut so that the payload for APNs fits too")
    func cut() throws {
        let long = String(repeating: "x", count: 3000)
        let push = try Self.message(
            #"{"title": "T", "body": "\#(long)", "apns": {"more": "\#(long.dropFirst(1500))"}}"#
        ).push
        #expect(push.apnsPayload.text.count <= 4096 && push.apnsPayload.text.count > 4000)
        #expect(push.payload.alertText?.hasSuffix("…") == true)
        #expect(push.overrides.apns?["more"]?.string?.count == 1500)
    }

    @Test("what one service leaves out counts for the others")
    func otherServices() throws {
        let long = String(repeating: "x", count: 4096)
        #expect(throws: Failure.self) {
            try Self.message(
                #"{"title": "T", "data": {"more": "\#(long)"}, "apns": {"more": null}}"#)
        }
    }

    @Test(
        "a message shows something on iPhones, too",
        arguments: [
            #"{"title": "T", "apns": {"aps": {"alert": null}}}"#,
            #"{"title": "T", "apns": {"aps": {"alert": " "}}}"#,
            #"{"title": "T", "apns": {"aps": {"alert": {"title": null}}}}"#,
        ])
    func nothingToShow(text: String) {
        #expect(throws: Failure.self) { try Self.message(text) }
    }

    @Test(
        "the members of Apple's alert and sound have their types",
        arguments: [
            #"{"alert": {"title": 5}}"#, #"{"alert": {"loc-args": "x"}}"#,
            #"{"alert": {"title-loc-args": [1]}}"#, #"{"alert": {"launch-image": {}}}"#,
            #"{"alert": {"zz": 1}}"#, #"{"sound": {"critical": "x"}}"#,
            #"{"sound": {"critical": true}}"#, #"{"sound": {"name": 5}}"#,
            #"{"sound": {"volume": 2}}"#, #"{"sound": {"volume": "1"}}"#, #"{"sound": {}}"#,
            #"{"sound": {"critical": 1, "name": ""}}"#,
        ])
    func alertAndSound(aps: String) {
        let failure = #expect(throws: Failure.self) {
            try Self.message(#"{"title": "T", "apns": {"aps": \#(aps)}}"#)
        }
        #expect(failure?.disposition == .refused(.malformed))
        #expect(failure?.sentence.hasPrefix("apns.aps.") == true)
    }

    @Test func rightTypesOfAlertAndSound() throws {
        let aps = """
            {"alert": {"title": null, "loc-key": "K", "loc-args": ["a"], "launch-image": "i"},
             "sound": {"critical": 1, "name": "bell.caf", "volume": 0.5}}
            """
        _ = try Self.message(#"{"title": "T", "apns": {"aps": \#(aps)}}"#)
    }

    @Test("or is silent there")
    func silent() throws {
        _ = try Self.message(
            #"{"title": "T", "content_available": true, "apns": {"aps": {"alert": null}}}"#)
        _ = try Self.message(#"{"title": "T", "apns": {"aps": {"alert": "text"}}}"#)
    }

    @Test(
        "a token that nobody has registered belongs to the service whose form it has",
        arguments: [
            ("abcd", PushService.apns, "abcd"), ("ABCD", .apns, "abcd"), ("abc", .fcm, "abc"),
            ("fcm:X_-1", .fcm, "fcm:X_-1"),
            (browserToken(1), .web, browserToken(1)),
            (
                browserToken(1).replacing("https", with: "HTTPS"), .web,
                browserToken(1)
            ),
        ])
    func rawToken(text: String, service: PushService, token: String) throws {
        let raw = try #require(RawToken(text))
        #expect(raw.service == service && raw.token.text == token)
    }

    @Test(arguments: ["", "a b", "é", "https://push.example/send/1", "https://push.example/#x"])
    func noToken(text: String) {
        #expect(RawToken(text) == nil)
    }
}

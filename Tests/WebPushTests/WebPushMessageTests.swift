import JSON
import Testing
import Turnstone

@testable import WebPush

@Suite struct WebPushMessageTests {
    private let home = "https://example.org"

    private func content(
        _ aps: JSONObject, data: JSONObject = [:], type: PushType = .alert, priority: Int = 10,
        collapseID: String? = nil, isKept: Bool = true
    ) -> PushContent {
        PushContent(
            type: type, priority: priority, collapseID: collapseID,
            payload: Payload(aps: aps, data: data), isKept: isKept)
    }

    private func notification(_ message: WebPushMessage) throws -> JSONObject {
        let members = try #require(try JSON.parse(message.bytes).object)
        #expect(members["web_push"] == 8030)
        return try #require(members["notification"]?.object)
    }

    @Test func everyMemberHasItsPlace() throws {
        let aps: JSONObject = [
            "alert": ["title": "Your turn", "subtitle": "against Bob", "body": "It's your turn"],
            "badge": 3, "sound": "default",
        ]
        let data: JSONObject = ["web_url": "https://online-go.com/game/7", "game_id": 7]
        let message = try WebPushMessage(
            content(aps, data: data, collapseID: "turn-1"), home: home)
        #expect(
            try JSON.parse(message.bytes) == [
                "web_push": 8030,
                "notification": [
                    "title": "Your turn", "body": "against Bob\nIt's your turn",
                    "navigate": "https://online-go.com/game/7", "tag": "turn-1", "app_badge": 3,
                    "data": ["web_url": "https://online-go.com/game/7", "game_id": 7],
                ],
                "app_badge": 3,
            ])
        #expect(message.topic == "turn-1")
        #expect(message.urgency == .normal)
        #expect(!message.isShortened)
    }

    @Test(
        "without a title the first text is the title",
        arguments: [
            (#""Hello""#, "Hello", String?.none), (#"{"body": "Hello"}"#, "Hello", nil),
            (#"{"subtitle": "S", "body": "B"}"#, "S", "B"),
            (#"{"title": " ", "body": "B"}"#, "B", nil),
            (#"{"title": "T", "body": "\u200b"}"#, "T", nil),
        ])
    func texts(alert: String, title: String, body: String?) throws {
        let aps = try object(#"{"alert": \#(alert)}"#)
        let shown = try notification(WebPushMessage(content(aps), home: home))
        #expect(shown["title"]?.string == title)
        #expect(shown["body"]?.string == body)
    }

    @Test(
        "what shows nothing is not sent",
        arguments: [
            (#"{"content-available": 1}"#, PushType.background), (#"{"badge": 3}"#, .alert),
            (#"{"sound": "default"}"#, .alert), ("{}", .voip),
            (#"{"alert": {"loc-key": "TURN"}}"#, .alert), (#"{"alert": "x"}"#, .complication),
            (#"{"alert": "x"}"#, .liveActivity), (#"{"alert": {"title": "\u200b"}}"#, .alert),
        ])
    func silent(text: String, type: PushType) throws {
        let aps = try object(text)
        let failure = try #require(throws: Failure.self) {
            try WebPushMessage(content(aps, type: type), home: home)
        }
        #expect(failure.cause == WebPushMessage.notShown)
    }

    @Test(arguments: [
        ("{}", "https://example.org"),
        (#"{"web_url": "https://a.b/c#d"}"#, "https://a.b/c#d"),
        (#"{"url": "https://a.b"}"#, "https://a.b"),
        (#"{"web_url": "https://a.b", "url": "https://c.d"}"#, "https://a.b"),
        (#"{"web_url": "http://a.b"}"#, "https://example.org"),
        (#"{"web_url": "/game/7"}"#, "https://example.org"),
        (#"{"web_url": "javascript:alert(1)", "url": "https://c.d"}"#, "https://c.d"),
        (#"{"url": 7}"#, "https://example.org"),
    ])
    func aClickLeadsToASecureAddress(text: String, navigate: String) throws {
        let data = try object(text)
        let shown = try notification(
            WebPushMessage(content(["alert": "x"], data: data), home: home))
        #expect(shown["navigate"]?.string == navigate)
    }

    @Test("a picture must be at a secure address, and is not sent twice")
    func picture() throws {
        for (address, isShown) in [("https://a.b/c.png", true), ("http://a.b/c.png", false)] {
            let data: JSONObject = ["image": .string(address)]
            let shown = try notification(
                WebPushMessage(content(["alert": "x"], data: data), home: home))
            #expect(shown["image"]?.string == (isShown ? address : nil))
            #expect(shown["data"] == (isShown ? nil : .object(data)))
        }
    }

    @Test func theLanguageOfTheTextIsNamed() throws {
        let push = content(["alert": "x"])
        #expect(try notification(WebPushMessage(push, home: home))["lang"] == nil)
        let tag = try #require(LanguageTag("pt-BR"))
        let shown = try notification(WebPushMessage(push, in: tag, home: home))
        #expect(shown["lang"] == "pt-BR")
    }

    @Test(arguments: [
        ("passive" as String?, 10, Urgency.low), ("active", 5, .normal),
        ("time-sensitive", 5, .high), ("critical", 1, .high), (nil, 10, .normal), (nil, 5, .low),
        (nil, 1, .veryLow),
    ])
    func theUrgencyIsTheLevelOrThePriority(level: String?, priority: Int, urgency: Urgency) throws {
        var aps: JSONObject = ["alert": "x"]
        aps["interruption-level"] = level.map { .string($0) }
        let message = try WebPushMessage(content(aps, priority: priority), home: home)
        #expect(message.urgency == urgency)
    }

    @Test(arguments: [
        (#"{"alert": "x"}"#, true), (#"{"alert": "x", "sound": "default"}"#, false),
        (#"{"alert": "x", "sound": "default", "interruption-level": "passive"}"#, true),
    ])
    func soundsAreAsOnAPhone(text: String, isSilent: Bool) throws {
        let aps = try object(text)
        let shown = try notification(WebPushMessage(content(aps), home: home))
        #expect(shown["silent"] == (isSilent ? true : nil))
    }

    @Test(
        "a topic has at most 32 characters of base64url",
        arguments: [
            ("turn-1_A", true), (String(repeating: "a", count: 32), true),
            (String(repeating: "a", count: 33), false), ("a.b", false), ("ä", false), ("", false),
        ])
    func topics(collapseID: String, isKept: Bool) {
        let made = topic(of: collapseID)
        #expect((made == collapseID) == isKept)
        #expect((1...32).contains(made.utf8.count))
        #expect(base64URLDecoded(made + "AAAA".prefix((4 - made.utf8.count % 4) % 4)) != nil)
        #expect(topic(of: collapseID) == made)
        #expect(topic(of: collapseID + "x") != made)
    }

    @Test func theDevicesBadgeReplacesTheCommonOne() throws {
        let message = try WebPushMessage(
            content(["alert": "x", "badge": 3]), badge: 5, home: home)
        let members = try #require(try JSON.parse(message.bytes).object)
        #expect(members["app_badge"] == 5)
        #expect(members["notification"]?.object?["app_badge"] == 5)
    }

    @Test func overridesReplaceMembers() throws {
        let overrides: JSONObject = [
            "title": "Web", "icon": "https://a.b/i.png", "silent": .null, "navigate": .null,
            "actions": [["action": "go", "title": "Go", "navigate": "https://a.b/go"]],
            "app_badge": 9, "mutable": true, "data": ["a": 1],
        ]
        let message = try WebPushMessage(
            content(["alert": ["title": "T", "body": "B"]], data: ["x": 1]), overrides: overrides,
            home: home)
        #expect(
            try JSON.parse(message.bytes) == [
                "web_push": 8030,
                "notification": [
                    "title": "Web", "body": "B", "data": ["a": 1],
                    "icon": "https://a.b/i.png",
                    "actions": [["action": "go", "title": "Go", "navigate": "https://a.b/go"]],
                    "app_badge": 9, "mutable": true, "navigate": .string(home),
                ],
                "app_badge": 9, "mutable": true,
            ])
    }

    @Test(
        "no combination of members that browsers refuse is sent",
        arguments: [
            (#"{"vibrate": [200, 100]}"#, nil, ["vibrate"]),
            (#"{"vibrate": null}"#, nil, ["silent"]),
            (#"{"vibrate": [200], "silent": false}"#, nil, ["silent", "vibrate"]),
            (#"{"renotify": true}"#, nil, ["silent"]),
            (#"{"renotify": true}"#, "c", ["renotify", "silent", "tag"]),
            (#"{"renotify": true, "tag": "t"}"#, nil, ["renotify", "silent", "tag"]),
            (#"{"renotify": true, "tag": ""}"#, nil, ["silent", "tag"]),
        ] as [(String, String?, [String])])
    func combinations(text: String, collapseID: String?, names: [String]) throws {
        let overrides = try #require(try JSON.parse(Array(text.utf8)).object)
        var content = content(["alert": "x"])
        content.collapseID = collapseID
        let message = try WebPushMessage(content, overrides: overrides, home: home)
        let shown = try #require(
            try JSON.parse(message.bytes).object?["notification"]?.object)
        let combined = ["renotify", "silent", "tag", "vibrate"].filter { shown[$0] != nil }
        #expect(combined == names)
    }

    @Test(
        "a wrong member would make Safari show nothing",
        arguments: [
            (#"{"titel": "x"}"#, "web.titel"), (#"{"title": ""}"#, "web.title"),
            (#"{"title": 1}"#, "web.title"), (#"{"body": 1}"#, "web.body"),
            (#"{"navigate": "http://a.b"}"#, "web.navigate"),
            (#"{"navigate": "/x"}"#, "web.navigate"),
            (#"{"dir": "up"}"#, "web.dir"), (#"{"silent": 1}"#, "web.silent"),
            (#"{"icon": "i.png"}"#, "web.icon"), (#"{"app_badge": -1}"#, "web.app_badge"),
            (#"{"app_badge": "1"}"#, "web.app_badge"), (#"{"actions": {}}"#, "web.actions"),
            (#"{"actions": [{"action": "a", "title": "t"}]}"#, "web.actions"),
            (
                #"{"actions": [{"action": "a", "title": "t", "navigate": "https://a.b", "x": 1}]}"#,
                "web.actions"
            ),
            (#"{"vibrate": [1, "2"]}"#, "web.vibrate"),
            (#"{"vibrate": [1], "silent": true}"#, "web"),
            (#"{"timestamp": "now"}"#, "web.timestamp"),
        ])
    func overrides(text: String, name: String) throws {
        let members = try #require(try JSON.parse(Array(text.utf8)).object)
        let failure = try #require(throws: Failure.self) { try WebNotification.check(members) }
        #expect(failure.sentence.hasPrefix("\(name) "), "\(failure.sentence)")
        #expect(throws: failure) {
            try WebPushMessage(content(["alert": "x"]), overrides: members, home: home)
        }
    }

    @Test("a long text is cut between characters", arguments: ["x", "é", "👩‍👩‍👧", "\"", "\n"])
    func cutting(character: Character) throws {
        let text = String(repeating: character, count: 5000)
        let message = try WebPushMessage(
            content(["alert": ["title": "T", "body": .string("a" + text)]]), home: home)
        #expect(message.isShortened)
        let cost = JSON.text(.string(String(character))).count - 2
        #expect((3993 - cost...3993).contains(message.bytes.count))
        let body = try #require(try notification(message)["body"]?.string)
        #expect(body.last == "…")
        #expect(("a" + text).hasPrefix(body.dropLast()))
    }

    @Test func aLongTitleWithoutABodyIsCut() throws {
        let text = String(repeating: "x", count: 5000)
        let message = try WebPushMessage(content(["alert": .string(text)]), home: home)
        #expect(message.isShortened)
        #expect(message.bytes.count == 3993)
    }

    @Test func whatDoesNotFitWithoutItsTextIsRefused() throws {
        let data: JSONObject = ["x": .string(String(repeating: "x", count: 4000))]
        let failure = try #require(throws: Failure.self) {
            try WebPushMessage(content(["alert": "Hello"], data: data), home: home)
        }
        #expect(failure.cause == "PayloadTooLarge")
    }

    @Test(
        "how long the push service keeps it",
        arguments: [
            (60_000 as Int64, true, 60 as Int64), (60_999, true, 60), (-5, true, 0),
            (60_000, false, 0),
            (40 * 86_400_000, true, 2_419_200), (.max, true, 2_419_200),
        ])
    func ttl(ahead: Int64, isKept: Bool, seconds: Int64) throws {
        let message = try WebPushMessage(content(["alert": "x"], isKept: isKept), home: home)
        let now = Timestamp(seconds: 1_763_700_000)
        let request = WebPushRequest(
            message, to: try Browser().subscription, of: nil,
            expires: now + Interval(milliseconds: ahead))
        #expect(request.ttl(at: now) == seconds)
    }
}

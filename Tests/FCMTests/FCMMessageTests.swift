import JSON
import Testing
import Turnstone

@testable import FCM

@Suite struct FCMMessageTests {
    private static let now = Timestamp("2026-11-21T12:00:00Z")!

    private func sent(
        aps: JSONObject, data: JSONObject = [:], type: PushType = .alert, priority: Int = 10,
        collapseID: String? = nil, isKept: Bool = true, life: Interval = .hours(1),
        overrides: JSONObject? = nil
    ) throws -> JSONObject {
        let message = try FCMMessage(
            PushContent(
                type: type, priority: priority, collapseID: collapseID,
                payload: Payload(aps: aps, data: data), isKept: isKept),
            id: "n1", expires: Self.now + life, overrides: overrides)
        let token = try #require(DeviceToken(#"a:b"c"#, on: .android))
        let body = try JSON.parse(message.body(to: token, now: Self.now)).object
        #expect(body?.members.map(\.name) == ["message"])
        var members = try #require(body?["message"]?.object)
        #expect(members["token"] == #"a:b"c"#)
        members["token"] = nil
        return members
    }

    @Test func everyFieldOfAnAlertHasItsPlace() throws {
        let members = try sent(
            aps: [
                "alert": ["title": "T", "subtitle": "S", "body": "B", "launch-image": "x"],
                "badge": 3, "sound": "ding", "thread-id": "g1", "category": "TURN",
                "interruption-level": "time-sensitive", "relevance-score": 1,
                "mutable-content": 1, "target-content-id": "w1", "filter-criteria": "f",
            ],
            data: [
                "game_id": 7, "action": "open_game", "list": [1, "a"], "none": .null,
                "image": "https://example.org/a.png",
                "fcm_options": ["analytics_label": "turns"],
            ],
            collapseID: "c1")
        #expect(
            members["notification"] == [
                "title": "T", "body": "S\nB", "image": "https://example.org/a.png",
            ])
        #expect(
            members["android"] == [
                "ttl": "3600s", "collapse_key": "c1", "priority": "HIGH",
                "notification": [
                    "tag": "c1", "sound": "ding", "notification_count": 3,
                    "click_action": "TURN", "notification_priority": "PRIORITY_HIGH",
                ],
            ])
        #expect(
            members["data"] == [
                "game_id": "7", "action": "open_game", "list": #"[1,"a"]"#, "none": "null",
                "thread_id": "g1", "target_content_id": "w1",
            ])
        #expect(members["fcm_options"] == ["analytics_label": "turns"])
        #expect(members.members.count == 4)
    }

    @Test func textsInTheAppsLanguagesGoToAndroid() throws {
        let members = try sent(
            aps: [
                "alert": [
                    "title-loc-key": "TK", "title-loc-args": ["a"], "subtitle-loc-key": "SK",
                    "loc-key": "BK", "loc-args": ["b", "c"],
                ]
            ])
        #expect(members["notification"] == nil)
        #expect(
            members["android"]?.object?["notification"] == [
                "tag": "n1", "title_loc_key": "TK", "title_loc_args": ["a"],
                "body_loc_key": "BK", "body_loc_args": ["b", "c"],
            ])
    }

    @Test("a text alone is the body, and the notification's id is the tag")
    func plainText() throws {
        let members = try sent(aps: ["alert": "Hello"])
        #expect(members["notification"] == ["body": "Hello"])
        #expect(members["android"]?.object?["notification"] == ["tag": "n1"])
        #expect(members["android"]?.object?["collapse_key"] == nil)
        #expect(members["data"] == nil)
    }

    @Test(
        "the interruption level and the priority become Android's priorities",
        arguments: [
            (nil, 10, "HIGH", nil), (nil, 5, "NORMAL", nil), (nil, 1, "NORMAL", nil),
            ("passive", 10, "NORMAL", "PRIORITY_LOW"), ("active", 10, "HIGH", "PRIORITY_DEFAULT"),
            ("active", 5, "NORMAL", "PRIORITY_DEFAULT"),
            ("time-sensitive", 5, "HIGH", "PRIORITY_HIGH"),
            ("critical", 10, "HIGH", "PRIORITY_MAX"),
        ] as [(String?, Int, String, String?)])
    func priorities(level: String?, priority: Int, wakes: String, shown: String?) throws {
        var aps: JSONObject = ["alert": "Hello"]
        aps["interruption-level"] = level.map { .string($0) }
        let android = try sent(aps: aps, priority: priority)["android"]?.object
        #expect(android?["priority"] == .string(wakes))
        let level = android?["notification"]?.object?["notification_priority"]
        #expect(level == shown.map { .string($0) })
    }

    @Test("a critical sound is its name")
    func criticalSound() throws {
        let sound: JSONValue = ["critical": 1, "name": "alarm", "volume": 0]
        let members = try sent(aps: ["alert": "Hello", "sound": sound])
        #expect(members["android"]?.object?["notification"]?.object?["sound"] == "alarm")
    }

    @Test(
        "the time to live is what is left, from nothing to 28 days",
        arguments: [
            (Interval.milliseconds(1999), true, "1s"), (.seconds(-5), true, "0s"),
            (.days(30), true, "2419200s"), (.hours(1), false, "0s"),
        ])
    func life(left: Interval, isKept: Bool, text: String) throws {
        let members = try sent(aps: ["alert": "Hello"], isKept: isKept, life: left)
        #expect(members["android"]?.object?["ttl"] == .string(text))
    }

    /// As functions/notify/README.md says.
    @Test("a silent push, a badge alone and a sound alone become data")
    func dataOnly() throws {
        let silent = try sent(
            aps: ["content-available": 1], data: ["image": "i"], type: .background, priority: 5)
        #expect(silent["notification"] == nil)
        #expect(silent["android"] == ["ttl": "3600s", "priority": "NORMAL"])
        #expect(silent["data"] == ["image": "i", "content_available": "1"])
        let badge = try sent(aps: ["badge": 0], priority: 5, collapseID: "b")
        #expect(badge["notification"] == nil)
        #expect(
            badge["android"] == ["ttl": "3600s", "collapse_key": "b", "priority": "NORMAL"])
        #expect(badge["data"] == ["badge": "0"])
        let urgent = try sent(aps: ["badge": 5])
        #expect(urgent["android"] == ["ttl": "3600s", "priority": "HIGH"])
        #expect(urgent["data"] == ["badge": "5"])
        #expect(urgent.members.count == 2)
        #expect(try sent(aps: ["sound": "ding"])["data"] == ["sound": "ding"])
    }

    @Test("reserved names get a mark, and never take another member's place")
    func reservedNames() throws {
        let data: JSONObject = [
            "from": "a", "_from": "b", "__from": "c", "message_type": "d", "google.x": "e",
            "gcm.n": "f", "notification": "g", "GCMx": "h", "Fromage": "i", "collapse_key": "j",
        ]
        #expect(
            try sent(aps: ["alert": "Hello"], data: data)["data"] == [
                "___from": "a", "_from": "b", "__from": "c", "_message_type": "d",
                "_google.x": "e", "_gcm.n": "f", "_notification": "g", "_GCMx": "h",
                "Fromage": "i", "_collapse_key": "j",
            ])
    }

    @Test("the app's own member wins over one of aps")
    func ownMember() throws {
        let members = try sent(
            aps: ["alert": "Hello", "thread-id": "g"], data: ["thread_id": "mine"])
        #expect(members["data"] == ["thread_id": "mine"])
    }

    @Test("overrides are merged over android, and null removes")
    func overrides() throws {
        let members = try sent(
            aps: ["alert": "Hello", "badge": 2], collapseID: "c",
            overrides: [
                "ttl": "9s", "priority": "NORMAL", "collapse_key": .null,
                "notification": ["channel_id": "turns", "tag": .null, "visibility": "PUBLIC"],
            ])
        #expect(
            members["android"] == [
                "ttl": "9s", "priority": "NORMAL",
                "notification": [
                    "notification_count": 2, "channel_id": "turns", "visibility": "PUBLIC",
                ],
            ])
    }

    @Test("a body that is too long is cut between two characters, with every escape counted")
    func cut() throws {
        for unit in ["x", "é", "👨‍👩‍👧", "\"", "\n"] {
            let text = String(repeating: unit, count: 5000)
            let content = PushContent(
                type: .alert, priority: 10, collapseID: nil,
                payload: Payload(aps: [
                    "alert": ["title": "T", "subtitle": "S", "body": .string(text)]
                ]))
            let message = try FCMMessage(content, id: "n1", expires: Self.now + .days(28))
            #expect(message.isShortened)
            let token = try #require(DeviceToken("t", on: .android))
            let body = message.body(to: token, now: Self.now)
            var members = try #require(
                try JSON.parse(body).object?["message"]?.object)
            members["token"] = nil
            let size = JSON.text(.object(members)).count
            #expect(size <= FCMMessage.limit)
            #expect(size > FCMMessage.limit - 80)
            let shown = try #require(members["notification"]?.object?["body"]?.string)
            #expect(shown.hasPrefix("S\n") && shown.hasSuffix("…"))
            #expect(shown.dropFirst(2).dropLast().allSatisfy { String($0) == unit })
        }
    }

    @Test func whatDoesNotFitWithoutItsTextIsRefused() throws {
        let content = PushContent(
            type: .alert, priority: 10, collapseID: nil,
            payload: Payload(
                aps: ["alert": "Hello"], data: ["big": .string(String(repeating: "x", count: 4096))]
            ))
        let failure = try #require(throws: Failure.self) {
            try FCMMessage(content, id: "n1", expires: Self.now)
        }
        #expect(failure.cause == "PayloadTooLarge")
        #expect(failure.disposition == .refused(.tooLarge))
    }

    @Test("pushes for Apple's devices only are refused", arguments: [PushType.liveActivity, .voip])
    func otherTypes(type: PushType) throws {
        let content = PushContent(
            type: type, priority: 10, collapseID: nil, payload: Payload(aps: ["alert": "Hello"]))
        let failure = try #require(throws: Failure.self) {
            try FCMMessage(content, id: "n1", expires: Self.now)
        }
        #expect(failure.cause == "UnsupportedPushType")
    }
}

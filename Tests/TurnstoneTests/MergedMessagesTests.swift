import Testing

@testable import Turnstone

@Suite struct MergedMessagesTests {
    private func message(_ alert: JSONValue, _ more: JSONObject = [:]) -> Payload {
        var aps: JSONObject = ["alert": alert]
        for member in more.members { aps[member.name] = member.value }
        return Payload(aps: aps, data: ["id": alert])
    }

    @Test("several messages are counted and named, the newest first, with the newest one's members")
    func merged() {
        let messages = (1...5).map { number in
            message(
                ["title": .string("T\(number)"), "body": .string("B\(number)")],
                ["category": .string("C\(number)"), "sound": .string("S\(number)")])
        }
        let payload = MergedMessages.payload(messages)
        #expect(payload["merged"] == 5)
        #expect(payload["id"] == ["title": "T5", "body": "B5"])
        #expect(
            payload.aps == [
                "alert": ["title": "5 new notifications", "body": "T5: B5\nT4: B4\nT3: B3"],
                "category": "C5", "sound": "S5",
            ])
    }

    @Test("a subtitle stands for a missing title, and what nobody sees for nothing")
    func names() {
        let messages: [JSONValue] = [
            ["subtitle": "S1"], ["title": "T2", "subtitle": "S2", "body": ""],
            ["title": " ", "body": "B3"],
        ]
        let alert = MergedMessages.payload(messages.map { message($0) }).aps["alert"]
        #expect(alert == ["title": "3 new notifications", "body": "B3\nT2\nS1"])
    }

    @Test("texts that only the app has are counted and not named")
    func localized() {
        let messages = [message(["loc-key": "A"]), message(["title-loc-key": "B"])]
        let alert = MergedMessages.payload(messages).aps["alert"]
        #expect(alert == ["title": "2 new notifications"])
        let mixed = MergedMessages.payload(messages + [message("Plain")])
        #expect(
            mixed.aps["alert"] == ["title": "3 new notifications", "body": "Plain"])
    }

    @Test("what an earlier version has held is read")
    func earlier() throws {
        let json: JSONValue = [
            "messages": [
                [
                    "id": "a", "kind": "chat", "payload": ["aps": ["alert": "A"]],
                    "collapse_id": "c", "device_id": "d", "expires_at": 1_800_000_000_000,
                ]
            ],
            "ids": ["a"], "due": 1_800_000_000_000,
            "releases": [
                [
                    "id": "r",
                    "message": [
                        "id": "b", "payload": ["aps": ["alert": "B"]],
                        "expires_at": 1_800_000_000_000,
                    ], "ids": ["b"],
                ]
            ],
        ]
        var held = try #require(HeldMessages(json))
        #expect(held.json == json)
        #expect(held.messages.map(\.id) == ["a"] && held.releases.map(\.message.id) == ["b"])
        held.finish("r")
        #expect(held.releases.isEmpty)
    }
}

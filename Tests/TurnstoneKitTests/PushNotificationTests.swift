import Foundation
import Testing
import TurnstoneKit

@Suite struct PushNotificationTests {
    private let notice = """
        {"aps": {"alert": {"title": "Your turn in Go!", "subtitle": "bob, move 24", "body": "It's your turn in: test game"},
                 "badge": 2, "sound": "default", "thread-id": "turns", "category": "TURN"},
         "web_url": "https://online-go.com/game/79504463", "app_url": "ogs://game/79504463", "game_id": 79504463,
         "action": "open_game", "game_name": "test game"}
        """

    @Test func aTurnNoticeIsRead() throws {
        let push = try #require(PushNotification(payload: Data(notice.utf8)))
        #expect(push.title == "Your turn in Go!")
        #expect(push.subtitle == "bob, move 24")
        #expect(push.body == "It's your turn in: test game")
        #expect(push.badge == 2)
        #expect(push.threadID == "turns")
        #expect(push.category == "TURN")
        #expect(push.game()?.game == 79_504_463)
        #expect(push.gameName == "test game")
        #expect(push.pageToOpen()?.absoluteString == "https://online-go.com/game/79504463")
    }

    @Test func userInfoIsReadAsThePayloadIs() throws {
        let object = try JSONSerialization.jsonObject(with: Data(notice.utf8))
        let userInfo = try #require(object as? [AnyHashable: Any])
        #expect(
            PushNotification(userInfo: userInfo) == PushNotification(payload: Data(notice.utf8)))
    }

    @Test(
        "a push opens no other site",
        arguments: [
            #"{"action": "open_game", "web_url": "https://evil.example/game/1"}"#,
            #"{"action": "open_game", "web_url": "http://online-go.com/game/1"}"#,
            #"{"action": "open_game", "web_url": "javascript:alert(1)"}"#,
            #"{"action": "open_game", "web_url": 5, "game_id": "1"}"#,
            #"{"action": "open_shop", "web_url": "https://online-go.com/game/1"}"#,
            #"{"web_url": "https://online-go.com/game/1"}"#,
            #"{"action": "open_game", "game_id": -1}"#, #"{"action": "open_game", "game_id": 1.5}"#,
        ])
    func otherSites(payload: String) {
        #expect(PushNotification(payload: Data(payload.utf8))?.pageToOpen() == nil)
    }

    @Test(arguments: [
        "/admin", "/go/../admin", "/go/%2e%2e/admin", "/go/..%2fadmin", "/go/..%2Fadmin",
        "/go/..%5cadmin", "/go/..%2f%cc%b8admin", "/go/..%5c%cc%b8admin", "/go/a%2fb",
        "/go/%5Cadmin", "/go/a/%2e%2E%2fadmin", "/goo", "",
    ])
    func aPushOpensNothingBesideASitesPath(path: String) throws {
        let site = try #require(URL(string: "https://example.org/go"))
        let push = PushNotification(userInfo: [
            "action": "open_game", "web_url": "https://example.org\(path)",
        ])
        #expect(push.pageToOpen(on: site) == nil)
        let overview = PushNotification(userInfo: [
            "action": "open_game", "web_url": "https://example.org/go/overview",
        ])
        #expect(overview.pageToOpen(on: site)?.path == "/go/overview")
    }

    @Test func theNumberAloneIsEnoughToOpenAGame() {
        let userInfo: [AnyHashable: Any] = [
            "action": "open_game", "game_id": 7, "web_url": "https://evil.example",
        ]
        let push = PushNotification(userInfo: userInfo)
        #expect(push.pageToOpen()?.absoluteString == "https://online-go.com/game/7")
    }

    @Test func malformedMembersAreLeftOut() {
        let userInfo: [AnyHashable: Any] = [
            "aps": ["alert": ["title": 5, "body": ["x"]], "badge": "two", "thread-id": NSNull()],
            7: "a number's name",
            "date": Date(), "good": true, "count": 3, "share": 0.5, "list": [1, "b"],
        ]
        let push = PushNotification(userInfo: userInfo)
        #expect(push.title == nil && push.body == nil && push.badge == nil && push.threadID == nil)
        #expect(
            push.data == [
                "good": .bool(true), "count": .int(3), "share": .double(0.5),
                "list": .array([.int(1), .string("b")]),
            ])
        #expect(PushNotification(userInfo: ["aps": ["alert": "text"]]).body == "text")
        for payload in ["", "[]", "{", "null", "5"] {
            #expect(PushNotification(payload: Data(payload.utf8)) == nil)
        }
    }

    /// Another app's part of the payload is no reason to show nothing.
    @Test func oneBadMemberTakesNoOtherWithIt() {
        let push = PushNotification(userInfo: [
            "aps": [
                "alert": ["title": "a", "body": "b"], "badge": 2, "x": Date(), "y": Double.nan,
            ],
            "whole": ["a": 1, "b": Double.infinity], "list": [1, Double.nan], "number": Double.nan,
        ])
        #expect(push.title == "a" && push.body == "b" && push.badge == 2)
        #expect(push.data == ["whole": .object(["a": .int(1)])])
    }

    /// A thread of Apple's systems has 512 KiB of stack.
    @Test(arguments: ["[", #"{"a":"#])
    func deepNestingNeedsLittleStack(open: String) async {
        @Sendable func payload(_ depth: Int) -> Data {
            let end =
                (open == "[" ? "" : "0") + String(repeating: open == "[" ? "]" : "}", count: depth)
            return Data(
                (#"{"aps":{"alert":"hello"},"a":"# + String(repeating: open, count: depth) + end
                    + "}")
                    .utf8)
        }
        let bodies = await withCheckedContinuation { done in
            let thread = Thread {
                done.resume(
                    returning: [60, 70, 500].map { PushNotification(payload: payload($0))?.body })
            }
            thread.stackSize = 512 << 10
            thread.start()
        }
        #expect(bodies == ["hello", nil, nil])
    }

    @Test(arguments: [true, false])
    func deepNestingIsLeftOut(isArray: Bool) async {
        let push = await withCheckedContinuation { done in
            let thread = Thread {
                var value: Any = "x"
                for _ in 0..<1000 { value = isArray ? [value] : ["a": value] }
                done.resume(returning: PushNotification(userInfo: ["deep": value, "flat": 1]))
            }
            thread.stackSize = 512 << 10
            thread.start()
        }
        #expect(push.data["flat"] == .int(1))
        #expect(push.data["deep"] == nil || !isArray)
    }
}

import JSON
import Testing
import Turnstone

@Suite struct PushSubscriptionTests {
    private static let point =
        "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
    private static let auth = "BTBZMqHH6r4Tts7J_aSIgg"

    private func subscription(
        _ endpoint: JSONValue = "https://fcm.googleapis.com/fcm/send/abc:def",
        point: JSONValue = .string(point), auth: JSONValue = .string(auth)
    ) -> JSONValue {
        [
            "endpoint": endpoint, "expirationTime": .null,
            "keys": ["p256dh": point, "auth": auth],
        ]
    }

    @Test func whatABrowserGivesIsRead() throws {
        let read = try PushSubscription(subscription())
        #expect(read.endpoint.origin == "https://fcm.googleapis.com")
        #expect(read.endpoint.path == "/fcm/send/abc:def")
        #expect(read.publicKey.count == 65)
        #expect(read.secret.count == 16)
        #expect(try PushSubscription(read.json) == read)
    }

    @Test func keysMayHavePadding() throws {
        let padded = subscription(
            point: .string(Self.point + "="), auth: .string(Self.auth + "=="))
        #expect(try PushSubscription(padded) == PushSubscription(subscription()))
    }

    @Test(
        "a wrong member is named",
        arguments: [
            ("[]", "subscription must be an object"),
            ("{}", "subscription.endpoint"),
            (#"{"endpoint": 1}"#, "subscription.endpoint"),
            (
                #"{"endpoint": "http://a.b/c", "keys": {}}"#,
                "subscription.endpoint must begin with https"
            ),
            (
                #"{"endpoint": "https://u@a.b/c", "keys": {}}"#,
                "subscription.endpoint must not name a user"
            ),
            (
                #"{"endpoint": "https://a.b/c#d", "keys": {}}"#,
                "subscription.endpoint must not have a fragment"
            ),
            (
                #"{"endpoint": "https://a.b/c d", "keys": {}}"#,
                "subscription.endpoint must be an https address"
            ),
            (#"{"endpoint": "https://a.b/c"}"#, "subscription.keys must be"),
            (
                #"{"endpoint": "https://a.b/c", "keys": {"auth": "BTBZMqHH6r4Tts7J_aSIgg"}}"#,
                "subscription.keys.p256dh"
            ),
        ])
    func wrong(text: String, sentence: String) throws {
        let json = try JSON.parse(Array(text.utf8))
        let failure = try #require(throws: Failure.self) { try PushSubscription(json) }
        #expect(failure.disposition == .refused(.malformed))
        #expect(failure.sentence.hasPrefix(sentence), "\(failure.sentence)")
    }

    @Test(arguments: [
        "", "AAAA", String(point.dropLast()), point + "A", point + "+", "A" + point.dropFirst(),
    ])
    func aPublicKeyIsAPointOf65Bytes(point: String) throws {
        let failure = try #require(throws: Failure.self) {
            try PushSubscription(subscription(point: .string(point)))
        }
        #expect(failure.sentence.hasPrefix("subscription.keys.p256dh"))
    }

    @Test(arguments: ["", "AAAA", String(auth.dropLast()), auth + "A", auth + "="])
    func aSecretHas16Bytes(auth: String) throws {
        let failure = try #require(throws: Failure.self) {
            try PushSubscription(subscription(auth: .string(auth)))
        }
        #expect(failure.sentence.hasPrefix("subscription.keys.auth"))
    }

    @Test(
        "an endpoint is taken apart",
        arguments: [
            ("https://a.b", "https://a.b", "a.b", 443, "/"),
            ("HTTPS://A.B/C", "https://a.b", "a.b", 443, "/C"),
            ("https://a.b:443/?x=1", "https://a.b", "a.b", 443, "/?x=1"),
            ("https://a.b?x", "https://a.b", "a.b", 443, "/?x"),
            ("https://a.b:8443/c", "https://a.b:8443", "a.b", 8443, "/c"),
            ("https://[::1]:8443/c", "https://[::1]:8443", "::1", 8443, "/c"),
            ("https://127.0.0.1/c", "https://127.0.0.1", "127.0.0.1", 443, "/c"),
        ])
    func endpoint(text: String, origin: String, host: String, port: Int, path: String) throws {
        let endpoint = try PushEndpoint(text)
        #expect(endpoint.origin == origin)
        #expect(endpoint.host == host)
        #expect(endpoint.port == UInt16(port))
        #expect(endpoint.path == path)
        #expect(endpoint.text == origin + path)
        #expect(!"\(endpoint)".contains("c"), "a log must not show where to push")
    }

    @Test(arguments: [
        "https://", "https:///x", "https://a.b:/x", "https://a.b:0/x", "https://a.b:65536/x",
        "https://a.b:80:80/x", "https://a..b/x", "https://.a.b/x", "https://*.a.b/x",
        "https://a.b./x", "https://[::1/x", "https://[::1]x/",
        "https://[::1]x443/", "https://a%2eb/x", "https://ä.b/x",
        "ftp://a.b/x", "https:/a.b", "//a.b/x", "https://a.b\\@c.d/x", "https://a.b/\u{0}",
        "https://\(String(repeating: "a", count: 2048))/",
    ])
    func thisIsNoEndpoint(text: String) {
        #expect(throws: PushEndpoint.Fault.self) { try PushEndpoint(text) }
    }
}

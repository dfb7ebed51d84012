import Testing
import Turnstone

/// A browser's subscription as one text.
@Suite struct BrowserTokenTests {
    private static let key = [4] + [UInt8](1...64)
    private static let secret = [UInt8](100...115)

    private static func text(
        _ endpoint: String, _ key: [UInt8] = key, _ secret: [UInt8] = secret
    ) -> String {
        "\(endpoint)#p256dh=\(base64URL(key))&auth=\(base64URL(secret))"
    }

    @Test("any subscription becomes a text and is read from it again")
    func roundTrip() throws {
        var random = SystemRandomNumberGenerator()
        let characters = Array("abcdefghijklmnopqrstuvwxyzABCXYZ0123456789-._~:/?[]@!$&'()*+,;=%#")
            .filter { $0 != "#" }
        for _ in 0..<2000 {
            func bytes(_ count: Int) -> [UInt8] {
                (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
            }
            let path = String(
                (0..<Int.random(in: 0...300, using: &random)).map { _ in
                    characters.randomElement(using: &random)!
                })
            let port = Bool.random(using: &random) ? "" : ":\(Int.random(in: 1...65535))"
            let host = ["push.example", "a.b.c", "127.0.0.1", "[::1]"].randomElement()!
            let json: JSONValue = [
                "endpoint": .string("https://\(host)\(port)/\(path)"),
                "keys": [
                    "p256dh": .string(base64URL([4] + bytes(64))),
                    "auth": .string(base64URL(bytes(16))),
                ],
            ]
            let subscription = try PushSubscription(json)
            let token = DeviceToken(subscription)
            #expect(token.subscription == subscription, "\(token.text)")
            #expect(token.endpoint == subscription.endpoint.text)
            #expect(DeviceToken(token.text, on: .web) == token)
            #expect(DeviceToken(token.text, of: .web) == token)
            #expect(DeviceToken.all(named: token.text) == [token])
            #expect(token.text.utf8.allSatisfy { (33...126).contains($0) })
        }
    }

    @Test("a subscription has one text, however its address and keys are written")
    func canonical() throws {
        let token = try #require(DeviceToken(Self.text("https://push.example/A"), on: .web))
        let padded =
            "HTTPS://Push.Example:443/A#p256dh=\(base64URL(Self.key))=&auth=\(base64URL(Self.secret))=="
        #expect(DeviceToken(padded, on: .web) == token)
        #expect(token.text == Self.text("https://push.example/A"))
        // Whoever has the token may write it in any way.
        #expect(DeviceToken.all(named: padded).contains(token))
    }

    @Test("other keys are another device")
    func keys() throws {
        let tokens = [
            Self.text("https://push.example/a"),
            Self.text("https://push.example/a", Self.key.dropLast() + [1]),
            Self.text("https://push.example/a", Self.key, Self.secret.dropLast() + [1]),
            Self.text("https://push.example/b"),
        ].compactMap { DeviceToken($0, on: .web) }
        #expect(Set(tokens).count == 4)
        #expect(tokens.map(\.endpoint).prefix(3).allSatisfy { $0 == "https://push.example/a" })
    }

    @Test(
        "other texts are no browser's token",
        arguments: [
            "", "#", "https://push.example/a", "https://push.example/a#",
            "https://push.example/a#p256dh=&auth=", "abcdef",
            text("http://push.example/a"), text("https://push.example/a#b"),
            text("https://u@push.example/a"), text("https://push.example/a", [5] + key.dropFirst()),
            text("https://push.example/a", key.dropLast()),
            text("https://push.example/a", key, secret + [1]), text("https://push.example/a") + "&",
            text("https://push.example/a") + "&x=1", text("https://push.example/ a"),
            text("https://push.example/a").replacing("#p256dh", with: "#P256DH"),
        ])
    func refused(text: String) {
        #expect(DeviceToken(text, on: .web) == nil)
        #expect(DeviceToken.all(named: text).allSatisfy { $0.subscription == nil })
    }

    @Test("the logs and diagnostics show the push service only")
    func secrecy() throws {
        let token = try #require(
            DeviceToken(Self.text("https://push.example:8443/secret?x"), on: .web))
        #expect("\(token)" == "push.example:8443…")
        #expect(token.start == "push.example:8443")
        #expect(token.preview == "push.example:8443...")
        // Even if it was registered as another platform's.
        let disguised = try #require(DeviceToken("https://push.example/secret", on: .android))
        #expect(disguised.preview == "push.example...")
    }

    @Test("each platform has a service")
    func services() {
        #expect(Platform.all.map(\.service) == [.apns, .fcm, .web])
        #expect(Platform.all.filter(\.takesSilentPushes) == [.ios, .android])
    }

    @Test(
        "a service is reachable with its credentials",
        arguments: [
            ([], [PushService.apns]), (["FCM_SERVICE_ACCOUNT"], [.apns, .fcm]),
            (["VAPID_SUBJECT"], [.apns, .web]),
            (["FCM_SERVICE_ACCOUNT", "VAPID_SUBJECT"], [.apns, .fcm, .web]),
            (["FCM_BASE_URL", "VAPID_PRIVATE_KEY_PATH", "WEBPUSH_HOSTS"], [.apns]),
        ])
    func reachable(names: [String], services: [PushService]) {
        var variables = Variables()
        for name in names { variables.offer(name, "x") }
        let set = PushServiceSet(reachableWith: variables)
        #expect(PushService.all.filter { set.contains($0) } == services)
        #expect(set == PushServiceSet(services))
    }
}

import Testing
import Turnstone

@testable import WebPush

@Suite struct EncryptionTests {
    /// RFC 8291 section 5 and appendix A.
    @Test func theStandardsExampleIsByteIdentical() throws {
        let browser = try PushSubscription([
            "endpoint": "https://push.example.net/push/JzLQ3raZJfFBR0aqvOMsLrt54w4rJUsV",
            "keys": [
                "p256dh":
                    "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
                "auth": "BTBZMqHH6r4Tts7J_aSIgg",
            ],
        ])
        let body = try MessageEncryption().encrypt(
            Array("When I grow up, I want to be a watermelon".utf8), for: browser,
            privateKey: #require(base64URLDecoded("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw")),
            salt: #require(base64URLDecoded("DGv6ra1nlYgDCS1FRnbzlw")))
        #expect(
            body.map(base64URL) == """
                DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27ml\
                mlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPT\
                pK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN
                """)
    }

    @Test func everyMessageHasAKeyAndASaltOfItsOwn() throws {
        let encryption = try MessageEncryption()
        let browser = try Browser().subscription
        let bodies = try (0..<3).map { _ in
            try #require(try encryption.encrypt([1, 2, 3], for: browser))
        }
        #expect(Set(bodies.map { $0[..<16] }).count == 3)
        #expect(Set(bodies.map { $0[21..<86] }).count == 3)
    }

    @Test(
        "a message's length is hidden in steps",
        arguments: [
            (0, 256), (255, 256), (256, 512), (3839, 3840), (3840, 3994), (3993, 3994),
        ])
    func padding(length: Int, padded: Int) throws {
        let browser = try Browser()
        let message = [UInt8](repeating: 0x61, count: length)
        let body = try #require(
            try MessageEncryption().encrypt(message, for: browser.subscription))
        #expect(body.count == 86 + padded + 16)
        #expect(body.count <= 4096)
        #expect(try browser.decrypt(body) == message)
    }

    @Test func aMessageThatIsTooLongIsRefused() throws {
        let browser = try Browser().subscription
        #expect(throws: Failure.self) {
            try MessageEncryption().encrypt([UInt8](repeating: 0, count: 3994), for: browser)
        }
    }

    @Test func aPublicKeyOffTheCurveIsNotUsed() throws {
        let good = try Browser().subscription
        var point = good.publicKey
        point[64] ^= 1
        let bad = try PushSubscription([
            "endpoint": .string(good.endpoint.text),
            "keys": [
                "p256dh": .string(base64URL(point)), "auth": .string(base64URL(good.secret)),
            ],
        ])
        #expect(try MessageEncryption().encrypt([1], for: bad) == nil)
    }
}

import PushServices
import Signatures
import TestSupport
import Testing
import Turnstone

@Suite struct WebPushSettingsTests {
    static func variables(_ values: [String: String]) -> Variables {
        var variables = Variables()
        for (name, value) in values { variables.offer(name, value) }
        return variables
    }

    @Test func withoutASubjectItIsOff() throws {
        #expect(try WebPushSettings(Variables()) == nil)
        #expect(try WebPushSettings(Self.variables(["WEBPUSH_HOSTS": "a.b"])) == nil)
    }

    @Test(arguments: [
        "mailto:push@example.org", "https://example.org/contact", "https://example.org",
    ])
    func aSubjectIsAnAddress(subject: String) throws {
        let settings = try WebPushSettings(Self.variables(["VAPID_SUBJECT": subject]))
        #expect(settings?.subject == subject)
        #expect(settings?.key == nil)
    }

    @Test(arguments: [
        "push@example.org", "mailto:", "mailto:example.org", "mailto:a@localhost",
        "mailto:a@b@example.org", "mailto:<a@example.org>", "https://localhost/",
        "https://localhost:80",
        "http://example.org", "https://127.0.0.1/", "mailto:a@x.localhost",
        "mailto:a b@example.org",
    ])
    func anythingElseIsNot(subject: String) throws {
        let failure = try #require(throws: Failure.self) {
            try WebPushSettings(Self.variables(["VAPID_SUBJECT": subject]))
        }
        #expect(failure.disposition == .misconfigured)
        #expect(failure.sentence.contains("VAPID_SUBJECT"))
    }

    @Test(
        "each variable is named when it is wrong",
        arguments: [
            ("VAPID_PRIVATE_KEY_PATH", "/nowhere/key.pem"),
            ("VAPID_PRIVATE_KEY_PATH", "/etc/passwd"),
            ("VAPID_PRIVATE_KEY_PATH", "/proc"), ("WEBPUSH_CA_FILE", "/nowhere/ca.pem"),
            ("WEBPUSH_CA_FILE", "/etc/passwd"), ("WEBPUSH_HOSTS", "a.b,https://c.d"),
            ("WEBPUSH_HOSTS", "a.b:0"), ("WEBPUSH_HOSTS", "a..b"), ("WEBPUSH_HOSTS", "*"),
            ("WEBPUSH_PRIVATE_HOSTS", "a b:99999"), ("WEBPUSH_PRIVATE_HOSTS", "[::1"),
        ])
    func wrong(name: String, value: String) throws {
        let failure = try #require(throws: Failure.self) {
            try WebPushSettings(
                Self.variables(["VAPID_SUBJECT": "mailto:a@example.org", name: value]))
        }
        #expect(failure.disposition == .misconfigured)
        #expect(failure.sentence.contains(name))
    }

    @Test("a key in the place of its file's path is not repeated")
    func keyForPath() throws {
        let key = try ES256PrivateKey.generate()
        let pem = String(decoding: key.pem, as: UTF8.self)
        let lines = pem.split(separator: "\n").dropFirst().dropLast()
        let body: String = lines.joined()
        for value in [
            pem, body, lines.joined(separator: "\n"), base64(key.pem),
            "3KzvKasA2SoCxsp0iIG_o9B0Ozvl1XDwI63JRKNIWBM",
        ] {
            for name in ["VAPID_PRIVATE_KEY_PATH", "WEBPUSH_CA_FILE"] {
                let failure = try #require(throws: Failure.self) {
                    try WebPushSettings(
                        Self.variables(["VAPID_SUBJECT": "mailto:a@example.org", name: value]))
                }
                let start = "unable to use \(name) (environment): "
                #expect(failure.sentence.hasPrefix(start))
                for secret in [body.prefix(20), value.prefix(40)] {
                    #expect(!failure.sentence.contains(secret), "\(failure.sentence)")
                }
            }
        }
    }

    @Test func aKeyWithoutASubjectIsAMistake() throws {
        let failure = try #require(throws: Failure.self) {
            try WebPushSettings(Self.variables(["VAPID_PRIVATE_KEY_PATH": "/nowhere"]))
        }
        #expect(failure.sentence.contains("VAPID_SUBJECT"))
    }

    @Test func theKeyMayBeAFile() throws {
        let folder = TemporaryFolder()
        let key = try ES256PrivateKey.generate()
        try folder.write(key.pem, to: "vapid.pem")
        let settings = try WebPushSettings(
            Self.variables([
                "VAPID_SUBJECT": "mailto:a@example.org",
                "VAPID_PRIVATE_KEY_PATH": "\(folder.path)/vapid.pem",
            ]))
        #expect(settings?.key?.fingerprint == key.fingerprint)
    }

    @Test(
        "hosts that messages may go to",
        arguments: [
            ("https://fcm.googleapis.com/fcm/send/x", true),
            ("https://FCM.googleapis.com/fcm/send/x", true),
            ("https://fcm.googleapis.com:443/x", true),
            ("https://fcm.googleapis.com:8443/x", false),
            ("https://web.push.apple.com/x", true), ("https://push.apple.com/x", false),
            ("https://evilpush.apple.com/x", false),
            ("https://wns2-par02p.notify.windows.com/w/?token=x", true),
            ("https://updates.push.services.mozilla.com/wpush/v2/x", true),
            ("https://a.push.services.mozilla.com/x", true), ("https://jmt17.google.com/x", true),
            ("https://fcm.googleapis.com.evil.org/x", false), ("https://localhost/x", false),
            ("https://push.example.org/x", true), ("https://push.example.org:8443/x", false),
            ("https://up.example.net:8443/x", true), ("https://up.example.net/x", false),
            ("https://a.dots.example/x", true), ("https://dots.example/x", false),
            ("https://127.0.0.1:9000/x", true), ("https://127.0.0.1/x", false),
            ("https://[::1]:9000/x", true),
        ])
    func hosts(endpoint: String, isAllowed: Bool) throws {
        let settings = try #require(
            try WebPushSettings(
                Self.variables([
                    "VAPID_SUBJECT": "mailto:a@example.org",
                    "WEBPUSH_HOSTS": "Push.example.org, up.example.net:8443,.dots.example,",
                    "WEBPUSH_PRIVATE_HOSTS": "127.0.0.1:9000,[::1]:9000",
                ])))
        let address = try PushEndpoint(endpoint)
        #expect(settings.hosts.allow(address) == isAllowed)
        #expect(settings.hosts.mayBePrivate(address) == endpoint.contains(":9000"))
        if !isAllowed {
            let failure = try #require(throws: Failure.self) { try settings.hosts.check(address) }
            #expect(failure.sentence.contains("WEBPUSH_HOSTS"))
        }
    }
}

import PushServices
import Signatures
import TestSupport
import Testing
import Turnstone

@testable import APNs

@Suite struct APNsSettingsTests {
    @Test func withoutAKeyThereAreNoSettings() throws {
        let none: [String: String?] = ["APNS_KEY": nil, "APNS_KEY_ID": nil, "APNS_TEAM_ID": nil]
        #expect(try Settings.made(none) == nil)
        #expect(try APNsSettings(Variables()) == nil)
    }

    @Test func eachEnvironmentHasItsHost() throws {
        let settings = try #require(try Settings.made())
        #expect(settings.environment == .development)
        #expect(settings.address(of: .development).authority == "api.sandbox.push.apple.com")
        #expect(settings.address(of: .production).authority == "api.push.apple.com")
    }

    @Test func anotherGatewayServesBothEnvironments() throws {
        let settings = try #require(
            try Settings.made([
                "APNS_BASE_URL": "https://127.0.0.1:2197/", "APNS_ENVIRONMENT": "production",
            ]))
        #expect(settings.environment == .production)
        #expect(settings.address(of: .development).authority == "127.0.0.1:2197")
        #expect(settings.address(of: .production).authority == "127.0.0.1:2197")
    }

    @Test func channelsAreManagedAtOtherAddresses() throws {
        let apple = try #require(try Settings.made())
        let authorities = try [APNsEnvironment.development, .production].map {
            try apple.managementAddress(of: $0).authority
        }
        #expect(
            authorities == [
                "api-manage-broadcast.sandbox.push.apple.com:2195",
                "api-manage-broadcast.push.apple.com:2196",
            ])
        let other = try #require(
            try Settings.made([
                "APNS_MANAGEMENT_BASE_URL": "https://a:1",
                "APNS_DEVELOPMENT_MANAGEMENT_BASE_URL": "https://b:2",
            ]))
        #expect(try other.managementAddress(of: .production).authority == "a:1")
        #expect(try other.managementAddress(of: .development).authority == "b:2")
    }

    @Test("Apple is not asked about channels if another gateway gets the pushes")
    func gatewayWithoutManagement() throws {
        let settings = try #require(try Settings.made(["APNS_BASE_URL": "https://127.0.0.1:1"]))
        let failure = try #require(throws: Failure.self) {
            try settings.managementAddress(of: .development)
        }
        #expect(failure.disposition == .misconfigured)
    }

    @Test(arguments: [
        (nil, nil, APNsEnvironment.development), ("production", nil, .production),
        ("development", "false", .development), (nil, "false", .production),
        (nil, "true", .development),
    ])
    func theEnvironmentHasTwoVariables(
        environment: String?, development: String?, expected: APNsEnvironment
    ) throws {
        let settings = try Settings.made(
            ["APNS_ENVIRONMENT": environment, "APNS_DEVELOPMENT": development])
        #expect(settings?.environment == expected)
    }

    @Test func theKeyMayBeAFile() throws {
        let folder = TemporaryFolder()
        let key = try ES256PrivateKey.generate()
        try folder.write(key.pem, to: "key.p8")
        let settings = try #require(
            try Settings.made(["APNS_KEY": nil, "APNS_KEY_PATH": "\(folder.path)/key.p8"]))
        #expect(settings.key.pem == key.pem)
    }

    @Test("a key in the place of its file's path is not repeated")
    func keyForPath() throws {
        let key = try ES256PrivateKey.generate()
        let pem = String(decoding: key.pem, as: UTF8.self)
        let lines = pem.split(separator: "\n").dropFirst().dropLast()
        let body: String = lines.joined()
        for name in ["APNS_KEY_PATH", "APNS_CA_FILE"] {
            for value in [pem, body, lines.joined(separator: "\n"), base64(key.pem)] {
                let failure = try #require(throws: Failure.self) {
                    try Settings.made([name: value])
                }
                #expect(failure.disposition == .misconfigured)
                let start = "unable to use \(name) (environment): "
                #expect(failure.sentence.hasPrefix(start))
                for secret in [body.prefix(20), value.prefix(40)] {
                    #expect(!failure.sentence.contains(secret), "\(failure.sentence)")
                }
            }
        }
    }

    @Test(
        "a fault names its variable",
        arguments: [
            ("APNS_KEY", nil, "APNS_KEY_PATH"), ("APNS_KEY", "not base64!", "APNS_KEY"),
            ("APNS_KEY", "bm8ga2V5", "must hold a P-256 private key"),
            ("APNS_KEY_PATH", "/no/such/key.p8", "the file /no/such/key.p8 does not exist"),
            ("APNS_KEY_PATH", "/", "cannot read the file /"),
            ("APNS_KEY_PATH", "/dev/null", "the file /dev/null must hold"),
            ("APNS_KEY_ID", nil, "APNS_KEY_ID"), ("APNS_KEY_ID", "ABC-123DEF", "APNS_KEY_ID"),
            ("APNS_TEAM_ID", nil, "APNS_TEAM_ID"), ("APNS_TEAM_ID", "TEAM12345", "APNS_TEAM_ID"),
            ("APNS_BUNDLE_ID", nil, "APNS_BUNDLE_ID"),
            ("APNS_BUNDLE_ID", "org example", "APNS_BUNDLE_ID"),
            ("APNS_ENVIRONMENT", "staging", "must be development or production"),
            ("APNS_DEVELOPMENT", "perhaps", "must be true or false"),
            ("APNS_BASE_URL", "http://127.0.0.1", "https://HOST"),
            ("APNS_MANAGEMENT_BASE_URL", "http://127.0.0.1", "https://HOST"),
            ("APNS_CA_FILE", "/no/such/ca.pem", "the file /no/such/ca.pem does not exist"),
        ])
    func fault(name: String, value: String?, words: String) throws {
        let failure = try #require(throws: Failure.self) { try Settings.made([name: value]) }
        #expect(failure.disposition == .misconfigured)
        #expect(failure.sentence.contains(words))
        if let value, name == "APNS_KEY" { #expect(!failure.sentence.contains(value)) }
    }

    @Test(arguments: [
        ("https://127.0.0.1:2197", "127.0.0.1", 2197), ("https://a.example", "a.example", 443),
        ("https://[::1]:8443/", "::1", 8443), ("https://[::1]", "::1", 443),
    ])
    func anAddressIsRead(url: String, host: String, port: Int) {
        let address = APNsSettings.Address(url)
        #expect(address == APNsSettings.Address(host: host, port: UInt16(port)))
    }

    @Test(arguments: [
        "", "https://", "https://:443", "https://a:", "https://a:0", "https://a:65536",
        "https://a:+1",
        "https://a/path", "https://a?b", "https://user@a", "https://[::1", "https://[]",
        "https://a b", "https://[::1]x443", "https://*.a",
        "https://::1", "ftp://a", "https://a:443:443",
    ])
    func invalidAddressesAreRefused(url: String) {
        #expect(APNsSettings.Address(url) == nil)
    }
}

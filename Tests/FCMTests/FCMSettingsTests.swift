import PushServices
import Signatures
import TestSupport
import Testing
import Turnstone

@Suite struct FCMSettingsTests {
    @Test func withoutAnAccountThereAreNoSettings() throws {
        var variables = Variables()
        variables.offer("FCM_BASE_URL", "https://127.0.0.1:1")
        #expect(try FCMSettings(variables) == nil)
    }

    @Test func googleIsTheDefault() throws {
        let settings = try #require(try Accounts.settings())
        #expect(settings.address.authority == "fcm.googleapis.com")
        #expect(settings.account.projectID == "our-project")
        #expect(settings.account.tokenAddress.authority == "oauth2.googleapis.com")
        #expect(settings.account.tokenPath == "/token")
        #expect(settings.connections == 4)
        #expect(settings.messagesPerMinute < 600_000)
        #expect(settings.authorities == nil)
    }

    @Test func theAccountMayBeAFile() throws {
        let folder = TemporaryFolder()
        try folder.write(Accounts.json(), to: "account.json")
        var variables = Variables()
        variables.offer("FCM_SERVICE_ACCOUNT", "\(folder.path)/account.json")
        variables.offer("FCM_BASE_URL", "https://[::1]:8443/")
        variables.offer("FCM_CONNECTIONS", "32")
        let settings = try #require(try FCMSettings(variables))
        #expect(settings.address.authority == "[::1]:8443")
        #expect(settings.connections == 32)
    }

    @Test(
        "the account's JSON may have white space, quotation marks and a byte order mark around it",
        arguments: [
            ("\n", ""), ("\t  ", "\r\n"), ("'", "'"), ("\"", "\""), ("\u{feff}", ""),
            (" '\n", "\n' "), ("\u{feff}\"\u{feff}", "\"\n"),
        ])
    func surroundedAccount(before: String, after: String) throws {
        var variables = Variables()
        variables.offer("FCM_SERVICE_ACCOUNT", before + Accounts.json() + after)
        let settings = try #require(try FCMSettings(variables))
        let plain = try #require(try Accounts.settings())
        #expect(settings.fingerprint == plain.fingerprint)
    }

    @Test("an account in another form is refused, and nothing of it is repeated")
    func otherForms() throws {
        let json = Accounts.json()
        let pem = String(decoding: Accounts.key, as: UTF8.self)
        let encoded = base64(Array(json.utf8))
        let escaped = json.replacing("\"", with: "\\\"")
        for value in [
            "[\(json)]", "'\(json)", "\"\(json)'", "\u{a0}\(json)", "json=\(json)", encoded,
            "\n\(encoded)\n", "\"\(escaped)\"", pem, String(pem.dropFirst(28)),
        ] {
            var variables = Variables()
            variables.offer("FCM_SERVICE_ACCOUNT", value)
            let failure = try #require(throws: Failure.self) { try FCMSettings(variables) }
            #expect(failure.disposition == .misconfigured)
            #expect(failure.sentence.hasPrefix("unable to use FCM_SERVICE_ACCOUNT"))
            #expect(failure.sentence.utf8.count < 300, "\(failure.sentence)")
            for secret in ["BEGIN", "our-project", String(encoded.prefix(40)), "MII"] {
                #expect(!failure.sentence.contains(secret), "\(failure.sentence)")
            }
        }
    }

    @Test("a token server may have a port, a path and a query")
    func tokenServer() throws {
        let uri = "https://127.0.0.1:8443/a/token?b=c"
        let settings = try #require(
            try Accounts.settings(account: ["token_uri": .string(uri)]))
        #expect(settings.account.tokenAddress.authority == "127.0.0.1:8443")
        #expect(settings.account.tokenPath == "/a/token?b=c")
        #expect(settings.account.tokenURI == uri)
    }

    @Test(
        "a wrong account is refused with its variable and the member at fault",
        arguments: [
            ("private_key", "no key", "private_key"), ("private_key", nil, "private_key"),
            ("project_id", "a/../b", "project_id"), ("project_id", "", "project_id"),
            ("client_email", nil, "client_email"), ("private_key_id", nil, "private_key_id"),
            ("token_uri", "http://oauth2.googleapis.com/token", "token_uri"),
            ("token_uri", "https://host:0/token", "token_uri"),
            ("token_uri", "https://host/a b", "token_uri"), ("token_uri", nil, "token_uri"),
            ("type", "authorized_user", "service_account"),
        ] as [(String, String?, String)])
    func wrongAccount(member: String, value: String?, named: String) throws {
        let failure = try #require(throws: Failure.self) {
            try Accounts.settings(account: [member: value.map { .string($0) }])
        }
        #expect(failure.disposition == .misconfigured)
        #expect(failure.sentence.hasPrefix("unable to use FCM_SERVICE_ACCOUNT"))
        #expect(failure.sentence.contains(named))
        if let value, value.count > 6 { #expect(!failure.sentence.contains(value)) }
    }

    @Test("another kind of key, a short one and a damaged one are refused")
    func wrongKeys() throws {
        let curve = String(decoding: try ES256PrivateKey.generate().pem, as: UTF8.self)
        let damaged = try damagedKey()
        for pem in [curve, ShortKey.rsa, damaged] {
            let failure = try #require(throws: Failure.self) {
                try Accounts.settings(account: ["private_key": .string(pem)])
            }
            #expect(failure.disposition == .misconfigured)
        }
    }

    @Test(
        "a wrong variable is refused by its name",
        arguments: [
            ("FCM_BASE_URL", "http://127.0.0.1"), ("FCM_CONNECTIONS", "0"),
            ("FCM_CONNECTIONS", "33"), ("FCM_MESSAGES_PER_MINUTE", "59"),
            ("FCM_CA_FILE", "/nowhere/ca.pem"),
        ])
    func wrongVariable(name: String, value: String) throws {
        let failure = try #require(throws: Failure.self) { try Accounts.settings([name: value]) }
        #expect(failure.disposition == .misconfigured)
        #expect(failure.sentence.contains(name))
    }

    @Test("a file that is missing or holds something else is named")
    func wrongFile() throws {
        let folder = TemporaryFolder()
        try folder.write("[]", to: "list.json")
        for name in ["list.json", "missing.json"] {
            var variables = Variables()
            variables.offer("FCM_SERVICE_ACCOUNT", "\(folder.path)/\(name)")
            let failure = try #require(throws: Failure.self) { try FCMSettings(variables) }
            #expect(failure.disposition == .misconfigured)
            #expect(failure.sentence.contains("\(folder.path)/\(name)"))
        }
    }

    @Test("the fingerprint tells settings apart, and the token's document tells accounts apart")
    func fingerprints() throws {
        let first = try #require(try Accounts.settings())
        let same = try #require(try Accounts.settings(["FCM_CONNECTIONS": "2"]))
        let elsewhere = try #require(try Accounts.settings(["FCM_BASE_URL": "https://127.0.0.1"]))
        let project = try #require(try Accounts.settings(account: ["project_id": "other"]))
        #expect(first.fingerprint == same.fingerprint)
        #expect(first.fingerprint != elsewhere.fingerprint)
        #expect(first.fingerprint != project.fingerprint)
        #expect(first.tokenDocument == elsewhere.tokenDocument)
        #expect(first.tokenDocument != project.tokenDocument)
    }

    /// A key with a bit of its private exponent changed, and with primes that do not help out.
    private func damagedKey() throws -> String {
        let lines = String(decoding: Accounts.key, as: UTF8.self).split(separator: "\n")
        var der = try #require(base64Decoded(lines.dropFirst().dropLast().joined()))
        // PKCS#8's header, the modulus and the public exponent come first: 26 + 10 + 257 + 5 bytes.
        der[320] ^= 1
        der[620] ^= 1
        return "-----BEGIN PRIVATE KEY-----\n\(base64(der))\n-----END PRIVATE KEY-----\n"
    }
}

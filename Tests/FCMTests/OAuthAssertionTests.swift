import Foundation
import JSON
import PushServices
import Signatures
import TestSupport
import Testing
import Turnstone

@testable import FCM

@Suite struct OAuthAssertionTests {
    private static let moment = Timestamp("2026-11-21T12:00:00Z")!

    private func made() throws -> (FCMSettings, [String]) {
        let settings = try #require(try Accounts.settings())
        let assertion = try OAuthAssertion(settings.account, at: Self.moment)
        return (settings, assertion.text.components(separatedBy: "."))
    }

    private func members(_ part: String) throws -> JSONObject? {
        try JSON.parse(try #require(base64URLDecoded(part))).object
    }

    @Test func itSaysWhatGoogleAsksFor() throws {
        let (_, parts) = try made()
        try #require(parts.count == 3)
        #expect(try members(parts[0]) == ["alg": "RS256", "typ": "JWT", "kid": "key1"])
        #expect(
            try members(parts[1]) == [
                "iss": "sender@our-project.iam.gserviceaccount.com",
                "scope": "https://www.googleapis.com/auth/firebase.messaging",
                "aud": "https://oauth2.googleapis.com/token", "iat": 1_795_262_400,
                "exp": 1_795_266_000,
            ])
    }

    @Test func thePublicKeyVerifiesIt() throws {
        let (settings, parts) = try made()
        let signature = try #require(base64URLDecoded(parts[2]))
        #expect(signature.count == 256)
        let key = try RS256PublicKey(pem: settings.account.key.publicPEM)
        #expect(key.verify(signature, of: Array("\(parts[0]).\(parts[1])".utf8)))
        #expect(!key.verify(signature, of: Array("\(parts[0]).\(parts[1])A".utf8)))
    }

    @Test func opensslVerifiesIt() throws {
        let (settings, parts) = try made()
        let folder = TemporaryFolder()
        try folder.write(settings.account.key.publicPEM, to: "key.pem")
        try folder.write("\(parts[0]).\(parts[1])", to: "signed")
        try folder.write(try #require(base64URLDecoded(parts[2])), to: "signature")
        let openssl = Process()
        openssl.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        openssl.arguments = [
            "openssl", "dgst", "-sha256", "-verify", "key.pem", "-signature", "signature", "signed",
        ]
        openssl.currentDirectoryURL = URL(fileURLWithPath: folder.path)
        openssl.standardOutput = FileHandle.nullDevice
        try openssl.run()
        openssl.waitUntilExit()
        #expect(openssl.terminationStatus == 0)
    }

    @Test func theFormNeedsNoFurtherEncoding() throws {
        let settings = try #require(try Accounts.settings())
        let assertion = try OAuthAssertion(settings.account, at: Self.moment)
        let form = String(decoding: assertion.form, as: UTF8.self)
        let parts = form.components(separatedBy: "&")
        #expect(
            parts == [
                "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer",
                "assertion=\(assertion.text)",
            ])
        let safe = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")
        #expect(assertion.text.allSatisfy { safe.contains($0) })
    }
}

import JSON
import Signatures
import Testing
import Turnstone

@testable import APNs

@Suite struct ProviderTokenTests {
    private static let now = Timestamp(seconds: 1_800_000_000)

    @Test func theTokenIsSignedAsAPNsRequires() throws {
        let settings = try #require(try Settings.made())
        let token = try ProviderToken(settings, at: Self.now)
        let parts = token.text.split(separator: ".", omittingEmptySubsequences: false).map(
            String.init)
        try #require(parts.count == 3)
        let header = try JSON.parse(#require(base64URLDecoded(parts[0])))
        let claims = try JSON.parse(#require(base64URLDecoded(parts[1])))
        #expect(header == ["alg": "ES256", "kid": "ABC123DEFG"])
        #expect(claims == ["iss": "TEAM123456", "iat": 1_800_000_000])
        let signature = try #require(base64URLDecoded(parts[2]))
        #expect(settings.key.publicKey.verify(signature, of: Array("\(parts[0]).\(parts[1])".utf8)))
    }

    @Test func theRecordCanBeReadBack() throws {
        let token = try ProviderToken(#require(try Settings.made()), at: Self.now)
        #expect(ProviderToken(token.record) == token)
        #expect(ProviderToken([:]) == nil)
    }

    @Test(
        "a token is replaced when it must be and may be",
        arguments: [
            (0, false, ProviderToken.Decision.keep), (19, false, .keep), (20, false, .keep),
            (49, false, .keep), (50, false, .mint), (600, false, .mint),
            // The clock was set back.
            (-1, false, .keep), (-19, false, .keep), (-54, false, .keep), (-55, false, .mint),
            (-600, false, .mint),
            // APNs rejected it as expired.
            (0, true, .keepUntil(now + .minutes(20))), (19, true, .keepUntil(now + .minutes(1))),
            (20, true, .mint), (49, true, .mint),
            // It is from a clock that was ahead, and APNs rejects it.
            (-5, true, .mint), (-50, true, .mint),
        ])
    func age(minutes: Int64, isRejected: Bool, decision: ProviderToken.Decision) throws {
        let settings = try #require(try Settings.made())
        let record = try ProviderToken(settings, at: Self.now - .minutes(minutes))
        let rejected = isRejected ? record.text : nil
        #expect(
            ProviderToken.decide(record, for: settings, rejected: rejected, now: Self.now)
                == decision)
    }

    @Test func aNewerTokenOfAnotherProcessIsKept() throws {
        let settings = try #require(try Settings.made())
        let record = try ProviderToken(settings, at: Self.now)
        let decision = ProviderToken.decide(
            record, for: settings, rejected: "an older one", now: Self.now)
        #expect(decision == .keep)
    }

    @Test(arguments: [["APNS_KEY_ID": "OTHER12345"], ["APNS_TEAM_ID": "OTHER12345"]])
    func anotherKeyNeedsAnotherToken(change: [String: String?]) throws {
        let record = try ProviderToken(#require(try Settings.made()), at: Self.now)
        let settings = try #require(try Settings.made(change))
        #expect(ProviderToken.decide(record, for: settings, now: Self.now) == .mint)
        #expect(ProviderToken.decide(nil, for: settings, now: Self.now) == .mint)
    }
}

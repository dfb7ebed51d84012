import Crypto
import JSON
import Signatures
import TestSupport
import Testing
import Turnstone

@testable import JWT

@Suite struct WebTokenTests {
    static let now = Timestamp(milliseconds: 1_795_262_400_000)
    static let secret = "a secret that is long enough for HMAC"

    static func token(
        _ claims: JSONValue, header: JSONObject = ["alg": "HS256", "typ": "JWT"],
        secret: String = secret
    ) -> String {
        let signed = base64URL(JSON.text(.object(header))) + "." + base64URL(JSON.text(claims))
        return signed + "." + base64URL(hmacSHA256(Array(signed.utf8), key: Array(secret.utf8)))
    }

    static func settings(_ more: [String: String] = [:]) throws -> JWTSettings {
        var variables = Variables()
        for (name, value) in more { variables.offer(name, value) }
        variables.offer("JWT_SECRET", secret)
        return try JWTSettings(variables)
    }

    @Test(
        "a token is believed in its time, with a minute of leeway",
        arguments: [
            ([:], true), (["exp": 1_795_262_341], true), (["exp": 1_795_262_340], false),
            (["exp": .number(1_795_262_340.5)], true), (["exp": "1795262341"], false),
            (["exp": .null], false),
            (["exp": .number(1e300)], false), (["nbf": 1_795_262_460], true),
            (["nbf": 1_795_262_461], false),
            (["nbf": true], false), (["exp": 9_000_000_000_000_000_000], false),
        ] as [(JSONObject, Bool)])
    func time(claims: JSONObject, isBelieved: Bool) throws {
        var claims = claims
        claims["sub"] = "42"
        let token = try #require(WebToken(Self.token(.object(claims))))
        #expect((token.user(try Self.settings(), at: Self.now) != nil) == isBelieved)
    }

    @Test(
        "issuer and audience count where they are asked for",
        arguments: [
            ([:], ["iss": "x", "aud": "y"], true), (["JWT_ISSUER": "me"], ["iss": "me"], true),
            (["JWT_ISSUER": "me"], ["iss": "you"], false), (["JWT_ISSUER": "me"], [:], false),
            (["JWT_AUDIENCE": "app"], ["aud": "app"], true),
            (["JWT_AUDIENCE": "app"], ["aud": ["other", "app"]], true),
            (["JWT_AUDIENCE": "app"], ["aud": ["other"]], false),
            (["JWT_AUDIENCE": "app"], ["aud": 7], false), (["JWT_AUDIENCE": "app"], [:], false),
        ] as [([String: String], JSONObject, Bool)])
    func parties(variables: [String: String], claims: JSONObject, isBelieved: Bool) throws {
        var claims = claims
        claims["sub"] = "42"
        let token = try #require(WebToken(Self.token(.object(claims))))
        #expect((token.user(try Self.settings(variables), at: Self.now) != nil) == isBelieved)
    }

    @Test(
        "the user is the claim that the configuration names, a text or a number",
        arguments: [
            ([:], ["sub": "u-1"], "u-1"), ([:], ["sub": 17], "17"), ([:], ["sub": ""], nil),
            ([:], ["sub": .number(1.5)], nil), ([:], ["id": "7"], nil), ([:], [:], nil),
            (["JWT_USER_CLAIM": "userId"], ["sub": "no", "userId": "yes"], "yes"),
        ] as [([String: String], JSONObject, String?)])
    func user(variables: [String: String], claims: JSONObject, user: String?) throws {
        let token = try #require(WebToken(Self.token(.object(claims))))
        #expect(token.user(try Self.settings(variables), at: Self.now)?.text == user)
    }

    @Test(
        "what was not signed by us, or not as it says, is not believed",
        arguments: [
            ["alg": "none"], ["alg": "None"], ["alg": "RS256"], ["alg": "ES256"], ["alg": "HS512"],
            ["alg": "hs256"], [:], ["alg": ["HS256"]], ["alg": "HS256", "crit": ["exp"]],
            ["alg": "HS256", "crit": []],
        ] as [JSONObject])
    func headers(header: JSONObject) throws {
        let token = try #require(WebToken(Self.token(["sub": "42"], header: header)))
        #expect(token.user(try Self.settings(), at: Self.now) == nil)
    }

    @Test("another secret's token is not believed, nor one that was changed or left unsigned")
    func forged() throws {
        let settings = try Self.settings()
        let good = Self.token(["sub": "42"])
        let other = Self.token(["sub": "42"], secret: "another")
        let unsigned =
            good.utf8.split(separator: UInt8(ascii: "."))[..<2]
            .map { String(decoding: $0, as: UTF8.self) }.joined(separator: ".") + "."
        #expect(WebToken(good)?.user(settings, at: Self.now)?.text == "42")
        #expect(WebToken(other)?.user(settings, at: Self.now) == nil)
        #expect(WebToken(unsigned)?.user(settings, at: Self.now) == nil)
    }

    @Test(
        "what has not the form of a token is none",
        arguments: [
            "", ".", "..", "a.b", "a.b.c.d", "e30.e30.", "e30=.e30.AA", "e30.e30.A", "W10.e30.AA",
            "e30.W10.AA", "eyJhIjoxLCJhIjoyfQ.e30.AA x", " e30.e30.AA", "eyJhIjoxLCJhIjoyfQ.e30.AA",
        ])
    func form(text: String) throws {
        #expect(try WebToken(text)?.user(Self.settings(), at: Self.now) == nil)
    }

    @Test("a token that is too long is none")
    func long() throws {
        let long = String(repeating: "x", count: 7000)
        #expect(WebToken(Self.token(["sub": "42", "x": .string(long)])) == nil)
    }

    @Test("a public key is believed by its own kind only, and never taken for a secret")
    func publicKeys() throws {
        let folder = TemporaryFolder()
        let key = try ES256PrivateKey.generate()
        try folder.write(key.publicKey.pem, to: "key.pem")
        var variables = Variables()
        variables.offer("JWT_PUBLIC_KEY_PATH", "\(folder.path)/key.pem")
        let settings = try JWTSettings(variables)
        let signed =
            base64URL(JSON.text(["alg": "ES256"])) + "." + base64URL(JSON.text(["sub": "42"]))
        let token = signed + "." + base64URL(try key.sign(Array(signed.utf8)))
        #expect(WebToken(token)?.user(settings, at: Self.now)?.text == "42")
        let pem = String(decoding: key.publicKey.pem, as: UTF8.self)
        let confused = Self.token(["sub": "42"], secret: pem)
        #expect(WebToken(confused)?.user(settings, at: Self.now) == nil)
    }

    @Test(
        "a configuration that is of no use is named",
        arguments: [
            ([:], "must be set"), (["JWT_PUBLIC_KEY_PATH": "/none"], "no file"),
            (["JWT_PUBLIC_KEY_PATH": "/dev/null"], "must hold a public key"),
            (["JWT_PUBLIC_KEY_PATH": "/"], "cannot read"),
        ] as [([String: String], String)])
    func configuration(values: [String: String], words: String) {
        var variables = Variables()
        for (name, value) in values { variables.offer(name, value) }
        do {
            _ = try JWTSettings(variables)
            Issue.record("it was taken")
        } catch {
            #expect(error.sentence.contains(words), "\(error.sentence)")
        }
    }
}

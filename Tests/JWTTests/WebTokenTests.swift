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

    /// A token that expires in an hour, if the claims do not say something else.
    static func token(
        _ claims: JSONObject, header: JSONObject = ["alg": "HS256", "typ": "JWT"],
        secret: String = secret, expires: Bool = true
    ) -> String {
        var claims = claims
        if expires, claims["exp"] == nil { claims["exp"] = 1_795_266_000 }
        let signed =
            base64URL(JSON.text(.object(header))) + "." + base64URL(JSON.text(.object(claims)))
        return signed + "." + base64URL(hmacSHA256(Array(signed.utf8), key: Array(secret.utf8)))
    }

    static func settings(_ more: [String: String] = [:]) throws -> JWTSettings {
        var variables = Variables()
        for (name, value) in more { variables.offer(name, value) }
        variables.offer("JWT_SECRET", secret)
        return try JWTSettings(variables)
    }

    /// The user's id, or why the token is refused.
    static func result(_ text: String, _ settings: JWTSettings) -> String {
        do { return try WebToken(text).user(settings, at: now).text } catch {
            return "\(error)"
        }
    }

    @Test(
        "a token is valid in its time, with a minute of leeway",
        arguments: [
            (["exp": 1_795_262_341], "42"), (["exp": 1_795_262_340], "expired"),
            (["exp": .number(1_795_262_340.5)], "42"),
            (["exp": "1795262341"], #"notATime(claim: "exp")"#),
            (["exp": .null], #"notATime(claim: "exp")"#),
            (["exp": .number(1e300)], #"notATime(claim: "exp")"#),
            (["exp": 9_000_000_000_000_000_000], #"notATime(claim: "exp")"#),
            (["nbf": 1_795_262_460], "42"), (["nbf": 1_795_262_461], "notYetValid"),
            (["nbf": true], #"notATime(claim: "nbf")"#),
            (["exp": 1, "nbf": 1_795_262_461], "expired"),
        ] as [(JSONObject, String)])
    func time(claims: JSONObject, result: String) throws {
        var claims = claims
        claims["sub"] = "42"
        #expect(Self.result(Self.token(claims), try Self.settings()) == result)
    }

    @Test("a token without exp is refused unless JWT_REQUIRE_EXP is false")
    func noExpiry() throws {
        let token = Self.token(["sub": "42"], expires: false)
        #expect(Self.result(token, try Self.settings()) == "neverExpires")
        let required = try Self.settings(["JWT_REQUIRE_EXP": "true"])
        #expect(Self.result(token, required) == "neverExpires")
        let tolerant = try Self.settings(["JWT_REQUIRE_EXP": "false"])
        #expect(Self.result(token, tolerant) == "42")
        #expect(Self.result(Self.token(["sub": "42", "exp": 1]), tolerant) == "expired")
        let early = Self.token(["sub": "42", "nbf": 1_795_262_461], expires: false)
        #expect(Self.result(early, tolerant) == "notYetValid")
    }

    @Test(
        "issuer and audience count where they are asked for",
        arguments: [
            ([:], ["iss": "x", "aud": "y"], "42"), (["JWT_ISSUER": "me"], ["iss": "me"], "42"),
            (["JWT_ISSUER": "me"], ["iss": "you"], "wrongIssuer"),
            (["JWT_ISSUER": "me"], [:], "wrongIssuer"),
            (["JWT_AUDIENCE": "app"], ["aud": "app"], "42"),
            (["JWT_AUDIENCE": "app"], ["aud": ["other", "app"]], "42"),
            (["JWT_AUDIENCE": "app"], ["aud": ["other"]], "wrongAudience"),
            (["JWT_AUDIENCE": "app"], ["aud": 7], "wrongAudience"),
            (["JWT_AUDIENCE": "app"], [:], "wrongAudience"),
        ] as [([String: String], JSONObject, String)])
    func parties(variables: [String: String], claims: JSONObject, result: String) throws {
        var claims = claims
        claims["sub"] = "42"
        #expect(Self.result(Self.token(claims), try Self.settings(variables)) == result)
    }

    @Test(
        "the user is the claim that the configuration names, a text or a number",
        arguments: [
            ([:], ["sub": "u-1"], "u-1"), ([:], ["sub": 17], "17"),
            ([:], ["sub": ""], #"noUser(claim: "sub")"#),
            ([:], ["sub": .number(1.5)], #"noUser(claim: "sub")"#),
            ([:], ["id": "7"], #"noUser(claim: "sub")"#), ([:], [:], #"noUser(claim: "sub")"#),
            (["JWT_USER_CLAIM": "userId"], ["sub": "no", "userId": "yes"], "yes"),
            (["JWT_USER_CLAIM": "userId"], ["sub": "no"], #"noUser(claim: "userId")"#),
        ] as [([String: String], JSONObject, String)])
    func user(variables: [String: String], claims: JSONObject, result: String) throws {
        #expect(Self.result(Self.token(claims), try Self.settings(variables)) == result)
    }

    @Test(
        "a token that we did not sign, or not as it says, is refused whatever it claims",
        arguments: [
            ["alg": "none"], ["alg": "None"], ["alg": "RS256"], ["alg": "ES256"], ["alg": "HS512"],
            ["alg": "hs256"], [:], ["alg": ["HS256"]], ["alg": "HS256", "crit": ["exp"]],
            ["alg": "HS256", "crit": []],
        ] as [JSONObject])
    func headers(header: JSONObject) throws {
        for claims in [["sub": "42"], ["exp": 1]] as [JSONObject] {
            let token = Self.token(claims, header: header)
            let isAccepted = header["alg"] == "HS256"
            #expect(
                Self.result(token, try Self.settings())
                    == (isAccepted
                        ? "unsupportedExtension" : #"wrongAlgorithm(accepted: "HS256")"#))
        }
    }

    @Test("another secret's token is refused, and one that was changed or left unsigned")
    func forged() throws {
        let settings = try Self.settings()
        let good = Self.token(["sub": "42"])
        let other = Self.token(["sub": "42"], secret: "another")
        let unsigned =
            good.utf8.split(separator: UInt8(ascii: "."))[..<2]
            .map { String(decoding: $0, as: UTF8.self) }.joined(separator: ".") + "."
        #expect(Self.result(good, settings) == "42")
        #expect(Self.result(other, settings) == "badSignature")
        #expect(Self.result(unsigned, settings) == "badSignature")
    }

    @Test(
        "a text without the form of a token is refused",
        arguments: [
            "", ".", "..", "a.b", "a.b.c.d", "e30=.e30.", "e30=.e30.AA", "e30.e30.A", "W10.e30.AA",
            "e30.W10.AA", "eyJhIjoxLCJhIjoyfQ.e30.AA x", " e30.e30.AA", "eyJhIjoxLCJhIjoyfQ.e30.AA",
        ])
    func form(text: String) throws {
        #expect(Self.result(text, try Self.settings()) == "malformed")
    }

    @Test("a token that is too long is refused")
    func long() throws {
        let long = String(repeating: "x", count: 7000)
        let token = Self.token(["sub": "42", "x": .string(long)])
        #expect(Self.result(token, try Self.settings()) == "malformed")
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
            base64URL(JSON.text(["alg": "ES256"])) + "."
            + base64URL(JSON.text(["sub": "42", "exp": 1_795_266_000]))
        let token = signed + "." + base64URL(try key.sign(Array(signed.utf8)))
        #expect(Self.result(token, settings) == "42")
        let pem = String(decoding: key.publicKey.pem, as: UTF8.self)
        let confused = Self.token(["sub": "42"], secret: pem)
        #expect(Self.result(confused, settings) == #"wrongAlgorithm(accepted: "ES256")"#)
    }

    @Test(
        "a configuration that is of no use is named",
        arguments: [
            ([:], "JWT_SECRET is not set: set it, or set JWT_PUBLIC_KEY_PATH"),
            (
                ["JWT_SECRET": String(repeating: "x", count: 32), "JWT_COOKIE": "a b;"],
                "JWT_COOKIE"
            ),
            (["JWT_PUBLIC_KEY_PATH": "/none"], "the file /none does not exist"),
            (["JWT_PUBLIC_KEY_PATH": "/dev/null"], "must hold a public key"),
            (["JWT_PUBLIC_KEY_PATH": "/"], "cannot read the file /"),
            (
                ["JWT_PUBLIC_KEY_PATH": "-----BEGIN PUBLIC KEY-----\nMFkw\n"],
                "JWT_PUBLIC_KEY_PATH (environment): its value is the key or certificate itself"
            ),
            (["JWT_PUBLIC_KEY_PATH": String(repeating: "x", count: 32)], "no file of that name"),
            (["JWT_SECRET": "x"], "at least 32 bytes"),
            (["JWT_SECRET": String(repeating: "x", count: 31)], "at least 32 bytes"),
            (
                ["JWT_SECRET": String(repeating: "x", count: 32), "JWT_REQUIRE_EXP": "maybe"],
                "true or false"
            ),
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

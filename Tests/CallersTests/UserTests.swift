import Crypto
import JSON
import Testing
import Turnstone

@testable import Callers
@testable import Edge

/// The calling user, and the browser's headers about the page.
@Suite struct UserTests {
    private static let secret = "a secret that is long enough for HMAC"

    private static func token(
        _ claims: JSONObject, header: JSONObject = ["alg": "HS256"], secret: String = secret
    ) -> String {
        var claims = claims
        if claims["exp"] == nil { claims["exp"] = 1_795_266_000 }
        let signed =
            base64URL(JSON.text(.object(header))) + "." + base64URL(JSON.text(.object(claims)))
        return signed + "." + base64URL(hmacSHA256(Array(signed.utf8), key: Array(secret.utf8)))
    }

    private static let ann = token(["sub": "ann"])
    private static let bob = token(["sub": "bob"])

    /// - Returns: the user's id, or the refusal's name.
    private func caller(
        _ headers: [(String, String)], method: String = "POST",
        variables more: [String: String] = [:]
    ) -> String {
        var fields = Headers()
        for (name, value) in headers { fields.append(name, value) }
        var variables = Variables()
        for (name, value) in more { variables.offer(name, value) }
        variables.offer("JWT_SECRET", Self.secret)
        let request = Request(
            method: method, parameters: [], headers: fields, body: .bytes([]),
            time: Timestamp(milliseconds: 1_795_262_400_000), variables: variables)
        do { return try request.user().text } catch {
            switch error.disposition {
            case .refused(.unidentified(let challenge)): return challenge
            case .refused(let refusal): return "\(refusal)"
            default: return "\(error.disposition)"
            }
        }
    }

    private static let unknown = "Bearer realm=\"turnstone\""
    private static let disbelieved = "Bearer realm=\"turnstone\", error=\"invalid_token\""

    @Test(
        "a caller is known by the header",
        arguments: [
            ("Bearer \(ann)", "ann"), ("bearer  \(ann) ", "ann"), ("Bearer", disbelieved),
            ("Bearer \(token(["sub": "ann"], secret: "other"))", disbelieved),
            ("Bearer \(token(["sub": "ann", "exp": 1]))", disbelieved), (ann, unknown),
            ("Basic YTpi", unknown), ("Key \(ann)", unknown), ("", unknown),
        ])
    func header(value: String, user: String) {
        #expect(caller([("Authorization", value)]) == user)
    }

    @Test("without either there is no caller, and two headers count as none")
    func neither() {
        #expect(caller([]) == Self.unknown)
        let twice = [("Authorization", "Bearer \(Self.ann)"), ("authorization", "Basic x")]
        #expect(caller(twice) == "malformed")
    }

    @Test(
        "a caller is known by the cookie",
        arguments: [
            ("authToken=\(ann)", "ann"), ("a=b; authToken=\(ann); c=d", "ann"),
            ("a=b;authToken=\(ann)", "ann"), ("authtoken=\(ann)", unknown),
            ("xauthToken=\(ann)", unknown), ("authToken", unknown), ("authToken=", disbelieved),
            ("authToken=\(ann); authToken=\(bob)", "malformed"), ("", unknown),
        ])
    func cookie(value: String, user: String) {
        #expect(caller([("Cookie", value)], method: "GET") == user)
    }

    @Test("the cookie's name is what the configuration says")
    func cookieName() {
        let variables = ["JWT_COOKIE": "session"]
        #expect(
            caller([("Cookie", "session=\(Self.ann)")], method: "GET", variables: variables)
                == "ann")
        #expect(
            caller([("Cookie", "authToken=\(Self.ann)")], method: "GET", variables: variables)
                == Self.unknown)
    }

    @Test("the header goes before the cookie, right or wrong")
    func both() {
        let cookie = ("Cookie", "authToken=\(Self.bob)")
        #expect(caller([("Authorization", "Bearer \(Self.ann)"), cookie]) == "ann")
        #expect(caller([("Authorization", "Bearer x"), cookie], method: "GET") == Self.disbelieved)
        #expect(caller([("Authorization", "Basic x"), cookie], method: "GET") == "bob")
        #expect(caller([("Authorization", "Basic x"), cookie]) == "forbidden")
        #expect(caller([("Authorization", "Basic x"), cookie], method: "DELETE") == "bob")
    }

    @Test(
        "by cookie, a page of another site changes nothing",
        arguments: [
            ([("Sec-Fetch-Site", "same-origin")], true),
            ([("Sec-Fetch-Site", "same-site")], false), ([("Sec-Fetch-Site", "none")], false),
            ([("Sec-Fetch-Site", "cross-site")], false), ([("Sec-Fetch-Site", "")], false),
            ([("Origin", "https://push.example.org")], true),
            ([("Origin", "http://push.example.org")], true),
            ([("Origin", "https://push.example.org:8443")], false),
            ([("Origin", "https://example.org")], false),
            ([("Origin", "https://push.example.org.evil.net")], false),
            ([("Origin", "https://evil.net/push.example.org")], false),
            ([("Origin", "null")], false), ([("Origin", "")], false),
            (
                [("Origin", "https://push.example.org"), ("Sec-Fetch-Site", "cross-site")], false
            ),
            ([("Origin", "null"), ("Sec-Fetch-Site", "same-origin")], true),
        ] as [([(String, String)], Bool)])
    func origin(headers: [(String, String)], isOwn: Bool) {
        let cookie = [
            ("Host", "push.example.org"), ("Cookie", "authToken=\(Self.ann)"),
            ("Content-Type", "application/json"),
        ]
        for method in ["POST", "DELETE", "PUT", "PATCH"] {
            #expect(caller(cookie + headers, method: method) == (isOwn ? "ann" : "forbidden"))
        }
        for method in ["GET", "HEAD"] { #expect(caller(cookie + headers, method: method) == "ann") }
        let bearer = [("Authorization", "Bearer \(Self.ann)")]
        #expect(caller(bearer + headers) == "ann")
    }

    /// As native apps send them.
    @Test(
        "a change by cookie without Origin must need a preflight",
        arguments: [
            ("POST", "application/json", true), ("POST", "Application/JSON; charset=utf-8", true),
            ("POST", "text/json", true), ("POST", "text/plain", false),
            ("POST", "text/plain; application/json", false), ("POST", "", false),
            ("POST", "application/x-www-form-urlencoded", false), ("POST", nil, false),
            ("DELETE", nil, true), ("DELETE", "text/plain", true), ("PUT", nil, true),
        ] as [(String, String?, Bool)])
    func native(method: String, type: String?, isAccepted: Bool) {
        let headers =
            [("Cookie", "authToken=\(Self.ann)")] + (type.map { [("Content-Type", $0)] } ?? [])
        let wanted = isAccepted ? "ann" : "forbidden"
        #expect(caller(headers, method: method) == wanted)
        #expect(caller(headers + [("Referer", "https://evil.net/")], method: method) == wanted)
    }

    @Test(
        "pages of the origins in ALLOWED_ORIGINS may use the cookie",
        arguments: [
            ("https://app.example.org", "ann"), ("https://old.example.org", "ann"),
            ("http://app.example.org", "forbidden"), ("https://app.example.org:444", "forbidden"),
            ("https://app.example.org.evil.net", "forbidden"), ("null", "forbidden"),
            ("*", "forbidden"), ("", "forbidden"),
        ])
    func allowed(origin: String, user: String) {
        let variables = ["ALLOWED_ORIGINS": "https://app.example.org, https://OLD.example.org"]
        let headers = [
            ("Cookie", "authToken=\(Self.ann)"), ("Origin", origin),
            ("Sec-Fetch-Site", "cross-site"),
        ]
        for method in ["POST", "DELETE"] {
            #expect(caller(headers, method: method, variables: variables) == user)
        }
    }

    @Test(
        "ALLOWED_ORIGINS must list origins",
        arguments: ["*", "null", "app.example.org", "https://", "https://a/b", "https://*.a.org"])
    func badList(text: String) {
        let headers = [("Cookie", "authToken=\(Self.ann)"), ("Origin", text)]
        #expect(
            caller(headers, variables: ["ALLOWED_ORIGINS": text]) == "misconfigured")
    }

    @Test("a wrong entry of ALLOWED_ORIGINS is named by its place and not repeated")
    func wrongEntry() throws {
        var variables = Variables()
        variables.offer("ALLOWED_ORIGINS", "https://a.org, sesame")
        let failure = try #require(throws: Failure.self) { _ = try AllowedOrigins(variables) }
        #expect(failure.sentence.contains("entry 2") && !failure.sentence.contains("sesame"))
    }

    @Test("an origin that comes twice is refused")
    func twice() {
        let headers = [
            ("Cookie", "authToken=\(Self.ann)"), ("Origin", "https://push.example.org"),
            ("Origin", "https://evil.net"), ("Host", "push.example.org"),
        ]
        #expect(caller(headers) == "malformed")
    }

    @Test("without a host no origin is our own")
    func noHost() {
        let cookie = ("Cookie", "authToken=\(Self.ann)")
        #expect(caller([cookie, ("Origin", "https://")]) == "forbidden")
        #expect(caller([cookie, ("Host", ""), ("Origin", "https://")]) == "forbidden")
    }

    @Test(
        "a change by cookie says what it needs",
        arguments: [
            ([], "a POST with a cookie must have Content-Type: application/json"),
            (
                [("Content-Type", "text/plain")],
                "a POST with a cookie must have Content-Type: application/json"
            ),
            (
                [("Origin", "https://elsewhere.example")],
                "this request comes from another site, whose origin is not in ALLOWED_ORIGINS"
            ),
        ] as [([(String, String)], String)])
    func forbidden(more: [(String, String)], sentence: String) {
        var fields = Headers()
        for (name, value) in [("Cookie", "authToken=\(Self.ann)")] + more {
            fields.append(name, value)
        }
        var variables = Variables()
        variables.offer("JWT_SECRET", Self.secret)
        let request = Request(
            method: "POST", parameters: [], headers: fields, body: .bytes([]),
            time: Timestamp(milliseconds: 1_795_262_400_000), variables: variables)
        #expect {
            try request.user()
        } throws: {
            ($0 as? Failure) == .refused(.forbidden, sentence)
        }
    }

    @Test(
        "401 says which",
        arguments: [
            (nil, "no token"), ("x", "malformed token"),
            (token(["sub": "ann"], secret: "other"), "bad signature"),
            (token(["sub": "ann", "exp": 1]), "the token has expired"),
            (
                token(["sub": "ann"], header: ["alg": "HS256", "crit": ["b64"]]),
                "unsupported extension (crit)"
            ),
            (token(["sub": "ann", "iss": "you"]), "wrong issuer (iss)"),
        ] as [(String?, String)])
    func reason(token: String?, words: String) {
        var fields = Headers()
        if let token { fields.append("Authorization", "Bearer \(token)") }
        var variables = Variables()
        variables.offer("JWT_SECRET", Self.secret)
        if words.utf8.contains(UInt8(ascii: "(")) { variables.offer("JWT_ISSUER", "me") }
        let request = Request(
            method: "GET", parameters: [], headers: fields, body: .bytes([]),
            time: Timestamp(milliseconds: 1_795_262_400_000), variables: variables)
        #expect { try request.user() } throws: {
            ($0 as? Failure)?.sentence == "Access denied: \(words)"
        }
    }
}

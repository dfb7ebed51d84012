import Foundation
import TestSupport
import Testing

/// The promises of `infra/nginx` beside its routes.
@Suite(.testable(.nginx)) struct NginxTests {
    @Test func guessesAtTheMasterKeyAreLimitedAndNothingElseIs() throws {
        let site = try Site(.nginx)
        try Installed.player(at: site)
        let guess = HostRequest(
            method: "POST", target: "/generate-api-key",
            body: Array(#"{"user_id":"1","master_key":"guess"}"#.utf8))
        // Ten a minute and ten at once: of thirty in a moment most are too many.
        let answers = try (0..<30).map { _ in try site.answer(guess, from: "generate-api-key") }
        #expect(answers.prefix(10).allSatisfy { $0.status == 401 })
        let refused = answers.filter { $0.status == 429 }
        #expect(refused.count >= 10)
        #expect(refused.allSatisfy { $0.headers["retry-after"] != nil && $0.json != nil })
        for _ in 0..<30 {
            #expect(try site.answer(HostRequest(target: "/health"), from: "health").status == 200)
        }
    }

    @Test(
        "one address has ten changes a second, and ten looks at OGS; other reads and backends are not counted"
    )
    func changesAreLimited() throws {
        let site = try Site(.nginx, replacing: ["rate=10r/s": "rate=10r/s"])
        func answers(
            _ method: String, _ path: String, _ program: String, _ authorization: String = ""
        ) throws -> [HostAnswer] {
            try (0..<300).map { _ in
                let headers = authorization.isEmpty ? [] : [("Authorization", authorization)]
                return try site.answer(
                    HostRequest(method: method, target: path, headers: headers), from: program)
            }
        }
        for (method, path, program) in [
            ("POST", "/register", "register"), ("PUT", "/api/preferences", "preferences"),
            ("PUT", "/api/badge", "badge"), ("PATCH", "/api/profile", "profile"),
            ("POST", "/signup", "signup"), ("GET", "/check/1", "check"),
        ] {
            let answers = try answers(method, path, program)
            let refused = answers.filter { $0.status == 429 }
            #expect(refused.count >= 100, "\(path)")
            #expect(refused.allSatisfy { $0.headers["retry-after"] != nil && $0.json != nil })
        }
        for (method, path, program) in [
            ("GET", "/api/preferences", "preferences"), ("POST", "/api/notify", "notify"),
        ] {
            #expect(try !answers(method, path, program).contains { $0.status == 429 }, "\(path)")
        }
        let byServerKey = try answers("PUT", "/api/badge", "badge", "Key some")
        #expect(!byServerKey.contains { $0.status == 429 })
    }

    @Test(
        "the description of all routes and its page are served",
        arguments: [
            ("/openapi.json", "application/json"), ("/reference/", "text/html; charset=utf-8"),
            ("/reference/reference.js", "text/javascript; charset=utf-8"),
            ("/", "text/html; charset=utf-8"),
        ])
    func reference(path: String, type: String) throws {
        let site = try Site(.nginx)
        let answer = try site.answer(HostRequest(target: path), from: "health")
        #expect(answer.status == 200)
        #expect(answer.headers["content-type"] == type)
        #expect(answer.headers["x-content-type-options"] == "nosniff")
    }

    @Test(
        "nothing else of the folder is",
        arguments: [
            "/reference/README.md", "/reference/../README.md", "/README.md", "/reference", "/api/",
            "/reference/x/",
            "/reference/%2e%2e/README.md", "/turnstone-page/README.md",
            "/turnstone-page/index.html",
        ])
    func elsewhere(path: String) throws {
        let site = try Site(.nginx)
        #expect(try site.answer(HostRequest(target: path), from: "health").status == 404)
    }

    @Test func withoutFcgiwrapItIsA503ToComeBackTo() throws {
        let site = try Site(.nginx, replacing: ["fcgi.sock": "none.sock"])
        let answer = try site.answer(HostRequest(target: "/health"), from: "health")
        #expect(answer.status == 503)
        #expect(answer.headers["retry-after"] != nil)
        #expect(answer.json?.object?["error"] != nil)
    }

    @Test(
        "each answer of nginx's own has the headers of the programs' answers",
        arguments: [
            ("GET /admin HTTP/1.1", "", 308),
            ("HEAD /admin?a=b HTTP/1.1", "", 308),
            ("GET /none.js HTTP/1.1", "", 404),
            ("POST / HTTP/1.1", "Content-Length: 0\r\n", 404),
            ("GET /turnstone-admin HTTP/1.1", "", 404),
            ("GET /style.css HTTP/1.1", "Range: bytes=9999999-\r\n", 200),
            ("GET /openapi.json HTTP/1.1", "Range: bytes=9999999-\r\n", 200),
            ("GET /style.css HTTP/1.1", "If-Match: \"other\"\r\n", 412),
            ("GET /openapi.json HTTP/1.1", "If-Match: \"other\"\r\n", 412),
            ("POST /register HTTP/1.1", "Transfer-Encoding: gzip\r\n", 501),
            ("GET / HTTP/3.0", "", 505),
        ])
    func headers(line: String, fields: String, status: Int) throws {
        let site = try Site(.nginx)
        let connection = try site.connect(to: "health")
        connection.send(
            Array("\(line)\r\nHost: localhost\r\nConnection: close\r\n\(fields)\r\n".utf8))
        let answer = try HostAnswer(connection.receive())
        #expect(answer.status == status, "\(line): \(answer.text)")
        #expect(answer.headers["x-content-type-options"] == "nosniff", "\(line)")
        #expect(
            ["no-store", "no-cache"].contains(answer.headers["cache-control"] ?? ""), "\(line)")
        if answer.headers["content-type"]?.hasPrefix("text/html") == true {
            let policy = answer.headers["content-security-policy"] ?? ""
            #expect(policy.contains("default-src 'none'"), "\(line)")
            #expect(policy.contains("frame-ancestors 'none'"), "\(line)")
        }
        if status >= 400 { #expect(answer.json?.object?["error"] != nil, "\(line)") }
        if status == 308 { #expect(answer.headers["location"] == "admin/", "\(line)") }
    }
}

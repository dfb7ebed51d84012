import Foundation
import TestSupport
import Testing

/// What `infra/nginx` promises beside its routes.
@Suite(.installed(.nginx)) struct NginxTests {
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

    @Test func aDeviceTokenIsInNoLog() throws {
        let site = try Site(.nginx)
        try Installed.player(at: site)
        for method in ["GET", "PUT"] {
            for path in ["/users-by-token/\(Installed.token)", "/nothing/\(Installed.token)"] {
                _ = try site.answer(
                    HostRequest(method: method, target: path), from: "users-by-token")
            }
        }
        let large = HostRequest(
            method: "DELETE", target: "/register/\(Installed.token)",
            body: [UInt8](repeating: 32, count: 70_000))
        _ = try site.answer(large, from: "register")
        #expect(site.logs.contains("users-by-token: "))
        #expect(site.logs.contains(" PUT users-by-token 405 "))
        #expect(!site.logs.contains(Installed.token))
    }

    @Test func aProgramGetsNothingButWhatIsListed() throws {
        let programs = try scripts(#"printf 'Status: 200\r\n\r\n'; env"#)
        let site = try Site(.nginx, programs: programs.path)
        let answer = try site.answer(
            HostRequest(
                target: "/health?a=b",
                headers: [("Proxy", "http://127.0.0.1:1"), ("X-API-Key", "k")]),
            from: "health")
        let entries = answer.text.split(separator: "\n").map { String($0) }
        #expect(!entries.contains { $0.hasPrefix("HTTP_PROXY=") && $0 != "HTTP_PROXY=" })
        #expect(entries.contains("HTTP_X_API_KEY=k"))
        #expect(entries.contains("REQUEST_URI=/health?a=b"))
        #expect(entries.contains("TURNSTONE_CONFIG=\(site.configurationPath)"))
        let others = ["PATH", "PWD", "SHLVL", "_", "FCGI_ROLE", "TURNSTONE_CONFIG", "OLDPWD"]
        for entry in entries {
            let name = String(entry.prefix { $0 != "=" })
            #expect(
                name.hasPrefix("HTTP_") || others.contains(name) || gatewayVariables.contains(name),
                "\(name)")
        }
    }

    @Test func aProgramThatTakesTooLongIsA504AndGoesOn() throws {
        let programs = try scripts("while ! [ -e go ]; do sleep 0.01; done; : > done")
        let site = try Site(
            .nginx, programs: programs.path,
            replacing: ["fastcgi_read_timeout 30s": "fastcgi_read_timeout 100ms"])
        let answer = try site.answer(HostRequest(target: "/health"), from: "health")
        #expect(answer.status == 504)
        #expect(answer.json?.object?["error"] != nil)
        try programs.write("", to: "go")
        for _ in 0..<1_000 where programs.read("done") == nil { usleep(10_000) }
        #expect(programs.read("done") != nil)
    }

    @Test func withoutFcgiwrapItIsA503ToComeBackTo() throws {
        let site = try Site(.nginx, replacing: ["fcgi.sock": "none.sock"])
        let answer = try site.answer(HostRequest(target: "/health"), from: "health")
        #expect(answer.status == 503)
        #expect(answer.headers["retry-after"] != nil)
        #expect(answer.json?.object?["error"] != nil)
    }

    @Test(
        "messages to many may be larger than a registration",
        arguments: ["/api/notify", "/api/events"])
    func limits(path: String) throws {
        let site = try Site(.nginx)
        for (size, status) in [(900_000, 404), (1_100_000, 413)] {
            let request = HostRequest(
                method: "POST", target: path, body: [UInt8](repeating: 32, count: size))
            // The path has no program yet: within the limit that is what is wrong with it.
            #expect(try site.answer(request, from: "health").status == status)
        }
    }

    /// Shell scripts in the place of all programs.
    private func scripts(_ text: String) throws -> TemporaryFolder {
        let folder = TemporaryFolder()
        for program in try Route.programs() {
            try folder.write("#!/bin/sh\ncd '\(folder.path)'\n\(text)\n", to: program)
            chmod("\(folder.path)/\(program)", 0o755)
        }
        return folder
    }
}

/// RFC 3875 section 4.1, and what hosts add.
private let gatewayVariables: Set = [
    "CONTENT_LENGTH", "CONTENT_TYPE", "GATEWAY_INTERFACE", "QUERY_STRING", "REMOTE_ADDR",
    "REQUEST_METHOD", "REQUEST_URI", "SCRIPT_FILENAME", "SCRIPT_NAME", "SERVER_NAME", "SERVER_PORT",
    "SERVER_PROTOCOL", "SERVER_SOFTWARE",
]

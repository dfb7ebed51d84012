import Foundation
import TestSupport
import Testing

/// The promises of each server in front of our programs beside its routes.
@Suite struct ServerTests {
    @Test("a device token is in no log", arguments: Host.servers)
    func logs(host: Host) throws {
        let site = try Site(host)
        try Installed.player(at: site)
        for method in ["GET", "PUT", "BREW"] {
            let paths = ["/users-by-token/", "/nothing/", "/users-by-token/%00", "/../"]
            for path in paths.map({ $0 + Installed.token }) {
                _ = try site.answer(
                    HostRequest(method: method, target: path), from: "users-by-token")
            }
        }
        let large = HostRequest(
            method: "DELETE", target: "/register/\(Installed.token)",
            body: [UInt8](repeating: 32, count: 70_000))
        _ = try site.answer(large, from: "register")
        #expect(site.logs.contains("users-by-token: "))
        #expect(!site.logs.contains(Installed.token))
    }

    @Test("a program gets only what is listed", arguments: Host.servers)
    func variables(host: Host) throws {
        let programs = try scripts(#"printf 'Status: 200\r\n\r\n'; env"#)
        let site = try Site(host, programs: programs.path)
        let answer = try site.answer(
            HostRequest(
                target: "/health?a=b",
                headers: [
                    ("Proxy", "http://127.0.0.1:1"), ("X-API-Key", "k"), ("Authorization", "a"),
                ]),
            from: "health")
        let entries = answer.text.split(separator: "\n").map { String($0) }
        #expect(!entries.contains { $0.hasPrefix("HTTP_PROXY=") && $0 != "HTTP_PROXY=" })
        for entry in [
            "HTTP_X_API_KEY=k", "HTTP_AUTHORIZATION=a", "REQUEST_URI=/health?a=b",
            "TURNSTONE_CONFIG=\(site.configurationPath)",
        ] {
            #expect(entries.contains(entry), "\(host) \(entry)")
        }
        let others = ["PATH", "PWD", "SHLVL", "_", "FCGI_ROLE", "TURNSTONE_CONFIG", "OLDPWD"]
        for entry in entries {
            let name = String(entry.prefix { $0 != "=" })
            #expect(
                name.hasPrefix("HTTP_") || others.contains(name) || cgiVariables.contains(name),
                "\(host) \(name)")
        }
    }

    @Test(
        "a program that takes too long is a 504, and goes on behind nginx only",
        arguments: [
            (Host.nginx, "fastcgi_read_timeout 30s", "fastcgi_read_timeout 100ms"),
            (.lighttpd, #""read-timeout" => 30"#, #""read-timeout" => 1"#),
            (.apache, "CGIDScriptTimeout 30s", "CGIDScriptTimeout 100ms"),
        ].filter { $0.0.obstacle == nil })
    func timeOut(host: Host, place: String, shorter: String) throws {
        let programs = try scripts(
            """
            echo $$ > pid
            while ! [ -e go ]; do sleep 0.01; done
            : > done
            """)
        let site = try Site(host, programs: programs.path, replacing: [place: shorter])
        let answer = try site.answer(HostRequest(target: "/health"), from: "health")
        #expect(answer.status == 504)
        #expect(answer.json?.object?["error"] != nil)
        let pid = String(decoding: programs.read("pid") ?? [], as: UTF8.self)
        let process = try #require(Int32(pid.trimmingCharacters(in: .newlines)))
        if host == .nginx { try programs.write("", to: "go") }
        for _ in 0..<3_000 where kill(process, 0) == 0 { usleep(10_000) }
        #expect(kill(process, 0) != 0)
        #expect((programs.read("done") != nil) == (host == .nginx))
    }

    @Test("a program is named by the list only", arguments: Host.servers)
    func unlisted(host: Host) throws {
        let programs = try scripts(#"printf 'Status: 200\r\n\r\nhere'"#)
        for unlisted in ["deliver", "hidden"] {
            try programs.copyProgram("\(programs.path)/health", to: unlisted)
        }
        let site = try Site(host, programs: programs.path)
        for program in ["deliver", "hidden", "health"] {
            for path in ["/programs/", "//", "/x/", "/health/../", "/", "\(programs.path)/"] {
                let target = path + program
                guard target != "/health" else { continue }
                let answer = try site.answer(HostRequest(target: target), from: "health")
                #expect([400, 404].contains(answer.status), "\(host) \(target)")
                #expect(!answer.text.contains("started"), "\(host) \(target)")
            }
        }
    }

    /// Shell scripts that replace all programs.
    private func scripts(_ text: String) throws -> TemporaryFolder {
        let folder = TemporaryFolder()
        for program in try Route.programs() {
            try folder.writeProgram("#!/bin/sh\ncd '\(folder.path)'\n\(text)\n", to: program)
        }
        return folder
    }
}

/// RFC 3875 section 4.1, and the hosts' additions.
private let cgiVariables: Set = [
    "CONTENT_LENGTH", "CONTENT_TYPE", "GATEWAY_INTERFACE", "QUERY_STRING", "REMOTE_ADDR",
    "REQUEST_METHOD", "REQUEST_URI", "SCRIPT_FILENAME", "SCRIPT_NAME", "SERVER_NAME", "SERVER_PORT",
    "SERVER_PROTOCOL", "SERVER_SOFTWARE", "CONTEXT_DOCUMENT_ROOT", "CONTEXT_PREFIX",
    "DOCUMENT_ROOT",
    "REDIRECT_STATUS", "REDIRECT_URI", "REMOTE_PORT", "REQUEST_SCHEME", "SCRIPT_URI", "SCRIPT_URL",
    "SERVER_ADDR", "SERVER_ADMIN", "SERVER_SIGNATURE",
]

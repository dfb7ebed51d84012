import Foundation
import Signatures
import TestSupport
import Testing
import Turnstone

/// A variable that cannot be used is named, with the file where it may stand, by every program that
/// needs it, in the log: an endpoint answers 503 and no more, a scheduled program ends with 100.
@Suite struct WrongConfigurationTests {
    struct Row: CustomTestStringConvertible, Sendable {
        let name: String
        let value: String
        let programs: [String]
        /// Other settings without which the variable has no effect.
        var beside: [String: String] = [:]
        var testDescription: String { "\(name)=\(value)" }

        init(_ name: String, _ value: String, _ programs: [String], beside: [String: String] = [:])
        {
            self.name = name
            self.value = value
            self.programs = programs
            self.beside = beside
        }
    }

    private static let everybody = Endpoint.alone.map(\.program) + Endpoint.scheduled
    private static let whoAsksOGS = ["check", "diagnostics", "check-turns"]
    private static let whoTells = ["check", "check-turns"]

    /// Whole settings for APNs, with a key made for the test.
    private static let apns: [String: String] = [
        "APNS_KEY": base64((try? ES256PrivateKey.generate().pem) ?? []),
        "APNS_KEY_ID": "ABCDE12345",
        "APNS_TEAM_ID": "TEAM123456", "APNS_BUNDLE_ID": "org.example.app",
        "APNS_BASE_URL": "https://127.0.0.1:1",
    ]

    static let rows =
        [
            // `status` shows it as a problem.
            Row("TURNSTONE_STATE", "relative/folder", everybody.filter { $0 != "status" }),
            Row("TURNSTONE_NOW", "noon", everybody), Row("TURNSTONE_NOW", "-1", everybody),
            Row("MASTER_API_KEY", "", ["generate-api-key"]),
            Row("OGS_BASE_URL", "online-go.com", whoAsksOGS),
            Row("OGS_BASE_URL", "ftp://online-go.com", whoAsksOGS),
            Row("OGS_CA_FILE", "/nowhere/ca.pem", whoAsksOGS),
            Row("OGS_CONTACT", "ops@example.org\r\nCookie: a=b", whoAsksOGS),
            Row("OGS_WEB_URL", "https://a/?q", whoTells),
            Row("OGS_WEB_URL", "javascript:", whoTells),
            Row("EVENT_TEMPLATES", "relative/folder", ["events"]),
            Row("NOTIFY_LIVE_GAMES", "sometimes", whoTells),
            Row("TURN_TEXTS", "relative/folder", whoTells),
        ]
        + ["0", "-1", "86401", "30s", "1.5"].map {
            Row("CHECK_INTERVAL_SECONDS", $0, ["diagnostics", "check-turns"])
        }
        + ["0", "-2", "two"].map { Row("OGS_REQUESTS_PER_SECOND", $0, whoAsksOGS) }
        + ["-1", "3601", "soon"].map { Row("DELIVER_LINGER_SECONDS", $0, ["deliver"]) }
        + [
            ("APNS_ENVIRONMENT", "sandbox"), ("APNS_DEVELOPMENT", "perhaps"),
            ("APNS_KEY_PATH", "/nowhere/AuthKey.p8"), ("APNS_KEY_PATH", "/proc/self/status"),
            ("APNS_KEY_PATH", "/proc"), ("APNS_KEY", "no base64"), ("APNS_KEY", "bm8ga2V5"),
            ("APNS_KEY_ID", "short"), ("APNS_KEY_ID", ""), ("APNS_TEAM_ID", "TEAM-12345"),
            ("APNS_BUNDLE_ID", "../x"), ("APNS_BUNDLE_ID", ""),
            ("APNS_BASE_URL", "http://127.0.0.1"),
            ("APNS_BASE_URL", "https://"), ("APNS_BASE_URL", "https://a:0"),
            ("APNS_CA_FILE", "/nowhere/ca.pem"),
            ("APNS_MANAGEMENT_BASE_URL", "http://127.0.0.1"),
            ("APNS_DEVELOPMENT_MANAGEMENT_BASE_URL", "https://a/b"),
        ].map { Row($0.0, $0.1, ["deliver", "channels"], beside: apns) }

    @Test("a wrong variable is named", arguments: rows)
    func wrong(row: Row) throws {
        for program in row.programs {
            var variables = row.beside
            variables[row.name] = row.value
            let installation = try Endpoint.installation(environment: variables)
            try watchedPlayer(in: installation)
            let before = documents(in: installation)
            let file = installation.environment["TURNSTONE_CONFIG"] ?? ""
            let sentence = try sentence(of: program, in: installation)
            let start =
                row.value.isEmpty
                ? "\(row.name) is empty (environment or \(file)): "
                : "unable to use \(row.name) (environment): "
            #expect(sentence.hasPrefix(start), "\(program): \(sentence)")
            if row.name == "APNS_KEY" { #expect(!sentence.contains(row.value)) }
            #expect(documents(in: installation) == before)
        }
    }

    /// All documents. Lock files, and the player index, which records claims, are not among them.
    private func documents(in installation: Installation) -> [String: String] {
        installation.state.files().filter { $0.key.hasSuffix(".json") }
            .mapValues { String(decoding: $0, as: UTF8.self) }
    }

    @Test("a configuration file that is not there is named", arguments: everybody)
    func missingFile(program: String) throws {
        let installation = try Endpoint.installation(environment: [
            "TURNSTONE_CONFIG": "/nowhere/x.env"
        ])
        let sentence = try sentence(of: program, in: installation)
        #expect(
            sentence == "unable to read /nowhere/x.env (TURNSTONE_CONFIG): it does not exist")
    }

    /// The second is the content of a key's file.
    @Test(
        "settings in the place of the configuration file's path are not repeated",
        arguments: [
            "MASTER_API_KEY=sesame", "sesame\(String(repeating: "0", count: 64))",
            "/etc/turnstone.env MASTER_API_KEY=sesame",
        ])
    func contentAsPath(value: String) throws {
        for program in Self.everybody {
            let installation = try Endpoint.installation(environment: ["TURNSTONE_CONFIG": value])
            let sentence = try sentence(of: program, in: installation)
            #expect(
                sentence.hasPrefix("unable to use TURNSTONE_CONFIG (environment): no file"),
                "\(program): \(sentence)")
            #expect(!sentence.contains("sesame"), "\(sentence)")
        }
    }

    /// Runs the program as a host would, and returns its complaint.
    private func sentence(of program: String, in installation: Installation) throws -> String {
        guard let endpoint = Endpoint.all.first(where: { $0.program == program }) else {
            let ended = try Programs.run(program, environment: installation.environment)
            #expect(ended.exitCode == 100)
            #expect(ended.stdout.isEmpty)
            #expect(ended.stderr.hasPrefix("\(program): ") && ended.stderr.hasSuffix("\n"))
            return String(ended.stderr.dropFirst(program.count + 2).dropLast())
        }
        let body = endpoint.body ?? ""
        let request = """
            \(endpoint.method) \(endpoint.path) HTTP/1.1\r
            Host: a\r
            \(endpoint.headerLine)Content-Length: \(body.utf8.count)\r
            \r
            \(body)
            """
        let attempt = Attempt(endpoint: endpoint, front: .http, input: Array(request.utf8))
        let ended = try attempt.start(in: installation).end()
        try attempt.check(ended, 503)
        // Whoever asks, possibly without any key, learns no path.
        let file = installation.environment["TURNSTONE_CONFIG"] ?? ""
        #expect(!ended.stdout.contains("/nowhere") && !ended.stdout.contains("TURNSTONE_CONFIG"))
        #expect(file.isEmpty || !ended.stdout.contains(file), "\(program): \(ended.stdout)")
        return String(ended.stderr.dropFirst(program.count + 2).dropLast())
    }

    /// Somebody to look at, without whom OGS would not be asked.
    private func watchedPlayer(in installation: Installation) throws {
        let body = #"{"user_id": "1783478", "device_token": "\#(Endpoint.token)"}"#
        let event = """
            {"method": "POST", "path": "/register", "headers": {"X-API-Key": "\(Endpoint.key)"}, "body": \(body)}
            """
        var environment = installation.environment
        environment["TURNSTONE_STATE"] = installation.state.path
        environment["TURNSTONE_NOW"] = Installation.now
        let ended = try Programs.run("register", stdin: event, environment: environment)
        #expect(ended.stdout.contains(#""statusCode":200"#))
    }
}

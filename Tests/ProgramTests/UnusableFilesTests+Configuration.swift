import CUnix
import Foundation
import JSON
import TestSupport
import Testing
import Turnstone

// Files and folders that the configuration names.

extension UnusableFilesTests {
    static let variables = [
        "APNS_CA_FILE", "OGS_CA_FILE", "JWT_PUBLIC_KEY_PATH", "EVENT_TEMPLATES",
    ]

    @Test("what a variable names and cannot be used is named by health", arguments: variables)
    func configuration(variable: String) throws {
        let folder = TemporaryFolder()
        chmod(folder.path, 0o755)
        try folder.write("what is this\n", to: "file")
        var more = [variable: "\(folder.path)/file"]
        if variable.hasPrefix("APNS") {
            more["APNS_KEY"] = Self.key
            more["APNS_KEY_ID"] = "ABCDE12345"
            more["APNS_TEAM_ID"] = "ABCDE12345"
            more["APNS_BUNDLE_ID"] = "a.b"
        }
        for value in ["\(folder.path)/file", "\(folder.path)/none"] {
            more[variable] = value
            let body = try ask("health", "GET", "/health", environment: more).answer.body
            #expect(body.contains("unable to use \(variable)"), "\(body)")
        }
    }

    @Test(
        "what other programs refuse to read is named by health",
        arguments: [
            ("OGS_BASE_URL", "online-go.com"), ("OGS_WEB_URL", "javascript:"),
            ("OGS_CONTACT", "me"), ("OGS_REQUESTS_PER_SECOND", "0"),
            ("CHECK_INTERVAL_SECONDS", "0"), ("NOTIFY_LIVE_GAMES", "sometimes"),
            ("TURNSTONE_DELIVER", "never"),
            ("ALLOWED_ORIGINS", "example.org"), ("DEVICES_PER_USER", "no"),
            ("NEW_TOKENS_PER_HOUR", "no"),
            ("ACTIVITIES_PER_USER", "-1"), ("LISTENERS_PER_SESSION", "1.5"),
            ("KEYS_PER_USER", "many"),
        ])
    func ofOthers(variable: String, value: String) throws {
        let (answer, _) = try ask("health", "GET", "/health", environment: [variable: value])
        #expect(answer.status == 503)
        #expect(answer.body.contains("unable to use \(variable)"), "\(answer.body)")
    }

    @Test("an accepted request is not answered with an error if no drainer can be started")
    func drainerStart() throws {
        let environment = ["TURNSTONE_DELIVER": "never"]
        let body = #"{"devices":["\#(String(repeating: "a", count: 64))"],"title":"Hello"}"#
        let (answer, log) = try ask("notify", "POST", "/api/notify", body, environment: environment)
        #expect(answer.status == 202, "\(answer.body)")
        #expect(log.contains("unable to use TURNSTONE_DELIVER"), "\(log)")
    }

    /// A P-256 key for nothing but tests, in the form of `APNS_KEY`.
    static let key =
        "LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tCk1JR0hBZ0VBTUJNR0J5cUdTTTQ5QWdFR0NDcUdTTTQ5Q"
        + "XdFSEJHMHdhd0lCQVFRZ2RIdUFOcEFmRlRScjJ3aEUKOTlsZWpkYXlzL3dOWUd5bllFSEVhMzRmQkVhaF"
        + "JBTkNBQVEyZWJEWU9KR0pCSlBaeWlwTlBmUWtFOXJMazlRSgp2NmFRNFFtREZ5dFEwTzFZbnFXQmkxLzQ"
        + "5SGRHVmZpUlJCQU14RSszbThwV1NMaTBGejhvMUo2OAotLS0tLUVORCBQUklWQVRFIEtFWS0tLS0tCg=="

    @Test(
        "a folder of templates that is missing or a file, or a template that is not a file, does not cause a 500"
    )
    func templates() throws {
        let folder = TemporaryFolder()
        chmod(folder.path, 0o755)
        try folder.write("x", to: "file")
        try folder.write("x", to: "templates/lunch.json/x")
        chmod("\(folder.path)/templates", 0o755)
        let body = ##"{"event":"approval_cleared","users":["ann"],"values":{"requestId":"7"}}"##
        for (value, status) in [("file", 503), ("none", 503), ("templates", 202)] {
            let more = ["EVENT_TEMPLATES": "\(folder.path)/\(value)"]
            let answer = try ask("events", "POST", "/api/events", body, environment: more).answer
            #expect(answer.status == status, "\(value): \(answer.body)")
            let list = try ask("events", "GET", "/api/events", environment: more).answer
            #expect(list.status == (status == 503 ? 503 : 200), "\(value): \(list.body)")
        }
        let more = ["EVENT_TEMPLATES": "\(folder.path)/templates"]
        let lunch = #"{"event":"lunch","users":["ann"]}"#
        #expect(
            try ask("events", "POST", "/api/events", lunch, environment: more).answer.status == 422)
        let list = try ask("events", "GET", "/api/events", environment: more).answer
        #expect(list.body.contains("the template lunch cannot be read: it is a folder"))
        let health = try ask("health", "GET", "/health", environment: more).answer.body
        #expect(health.contains("lunch.json"), "\(health)")
    }

    @Test("a line of the configuration file that says nothing is named, in the log and by health")
    func configurationFile() throws {
        let file = TemporaryFolder()
        chmod(file.path, 0o755)
        try file.write(
            "# a comment\n\nTURNSTONE_LOG=text\n\u{1}\u{2}what\nmore=\n=x\n", to: "c.env")
        let more = ["TURNSTONE_CONFIG": "\(file.path)/c.env"]
        let (answer, log) = try ask("health", "GET", "/health", environment: more)
        #expect(answer.status == 503)
        let sentence = "c.env, lines 4, 6: neither NAME=value nor a comment"
        #expect(answer.body.contains(sentence), "\(answer.body)")
        #expect(log.contains(sentence), "\(log)")
    }
}

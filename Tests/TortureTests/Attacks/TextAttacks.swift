import Foundation
import JSON
import TestSupport
import Testing
import Turnstone

extension Attacks {
    /// Numbers and texts that no program expects.
    @Suite struct TextAttacks {
        private static let numbers = [
            "-9223372036854775808", "9223372036854775807", "9223372036854775806",
            "-9223372036854775809", "9223372036854775808", "1e300", "-1", "4294967295",
        ]

        @Test("no number in a body or a token ends a program", arguments: Door.all)
        func numberLimits(door: Door) throws {
            let row = AttackRow("numbers at the limits in bodies and tokens", through: door)
            let installation = try Installation(
                door, ["CALLER_REQUESTS_PER_MINUTE": "0", "NEW_TOKENS_PER_HOUR": "0"])
            try installation.register(tokens(1...1)[0], of: "ann")
            try installation.registerActivity(tokens(1...1, "a")[0], "a", session: "s", of: "ann")
            var asked = 0
            var crashed: [String] = []
            func attempt(_ what: String, _ ask: () throws -> Installation.Reply) rethrows {
                asked += 1
                if try ask().isCrash { crashed.append(what) }
            }
            for text in Length.sample(Self.numbers, few: 4) {
                let value = try #require(Double(text))
                let number =
                    Int64(text).map { JSONValue.integer($0) }
                    ?? .number(JSONNumber(text, value: value))
                for badge in [number, .string(text), .string("+\(text)")] {
                    try attempt("badge \(badge)") {
                        try installation.ask(
                            "PUT", "/api/badge", by: .user("ann"), ["badge": badge])
                    }
                    try attempt("badge of a message \(badge)") {
                        try installation.notify(["ann"], ["badge": badge])
                    }
                }
                // One more than the most.
                for badge in [JSONValue.integer(999_999), "+1", "-1"] {
                    try attempt("badge \(badge)") {
                        try installation.ask(
                            "PUT", "/api/badge", by: .user("ann"), ["badge": badge])
                    }
                }
                for claim in ["exp", "nbf", "iat", "sub"] {
                    var claims: JSONObject = ["sub": "ann", "exp": 4_102_444_800]
                    claims[claim] = number
                    try attempt("\(claim) \(text)") {
                        try installation.ask("GET", "/api/badge", by: .claims(claims))
                    }
                }
                for member in [
                    "expiration", "expires_in", "send_after", "priority", "relevance_score",
                ] {
                    try attempt("\(member) \(text)") {
                        try installation.notify(["ann"], [member: number])
                    }
                }
                for member in [
                    "timestamp", "staleDate", "dismissalDate", "priority", "relevanceScore",
                ] {
                    try attempt("\(member) \(text)") {
                        try installation.ask(
                            "POST", "/api/push/live-activity", by: .backend,
                            .object(
                                [
                                    "sessionId": "s", "event": "update",
                                    "contentState": ["step": number], member: number,
                                ]))
                    }
                }
                try installation.run("deliver")
            }
            crashed += installation.crashes
            #expect(crashed.isEmpty)
            try row.report(
                "programs that crashed", before: "SIGILL, 502 (badge, exp)",
                now: crashed.count.of(asked))
        }

        @Test("no number in a stored document ends a program")
        func storedNumbers() throws {
            let row = AttackRow("numbers at the limits in stored documents")
            let installation = try Installation()
            try installation.makeDocuments()
            let before = installation.state.files()
            let places = before.filter { $0.key.hasSuffix(".json") || $0.key.hasSuffix(".jsonl") }
                .sorted { $0.key < $1.key }
                .flatMap { name, bytes in
                    NumberPlace.all(in: String(decoding: bytes, as: UTF8.self), of: name)
                }
            let sample = Length.sample(places, few: 12)
            var runs = 0
            for (number, place) in sample.enumerated() {
                let values = Self.numbers.prefix(3)
                for value in Length.isLong ? Array(values) : [values[number % 3]] {
                    for (name, bytes) in before where name != place.file {
                        // A lock's number would make the changed document a stale view of a newer one.
                        try installation.state.write(
                            name.hasSuffix(".lock") ? [] : bytes, to: name)
                    }
                    try installation.state.write(place.replaced(by: value), to: place.file)
                    runs += try installation.useDocuments()
                }
            }
            #expect(places.count > 30)
            #expect(installation.crashes.isEmpty)
            try row.report(
                "programs that crashed, in \(sample.count) places",
                before: "SIGILL (revision, notices, step, offset, …)",
                now: installation.crashes.count.of(runs))
        }

        @Test(
            "no text of a stranger's begins a line of a log or moves a terminal's cursor",
            arguments: Door.all)
        func forgedLines(door: Door) throws {
            let row = AttackRow(
                "names and texts with line ends and escape sequences", through: door)
            let installation = try Installation(
                door, ["CALLER_REQUESTS_PER_MINUTE": "0", "NEW_TOKENS_PER_HOUR": "0"])
            let forged = "register: registered user=\"eve\""
            let text = "x\n\(forged) \u{1b}[2J\u{9b}2J\r\(forged)\u{2028}\u{85}\(forged)"
            let texts = [text, "\u{1b}]0;x\u{7}\n\(forged)", "\r\n\(forged)\r\n"]
            var asked = 0
            func attempt(
                _ method: String, _ path: String, _ caller: Installation.Caller,
                _ body: JSONValue? = nil, headers: [(String, String)] = []
            ) throws {
                asked += 1
                _ = try installation.ask(method, path, by: caller, body, headers: headers)
            }
            for text in texts {
                let value = JSONValue.string(text)
                try attempt("PUT", "/api/preferences", .user("ann"), .object([text: 1]))
                try attempt("PUT", "/api/preferences", .user("ann"), ["kinds": .object([text: 1])])
                try attempt("PUT", "/api/preferences", .user("ann"), ["quietHours": value])
                try attempt("PUT", "/api/badge", .user("ann"), ["badge": value])
                for member in [
                    "token", "tokenType", "platform", "environment", "activityId", "sessionId",
                ] {
                    var body: JSONObject = [
                        "token": .string(tokens(1...1)[0]), "tokenType": "live_activity",
                        "platform": "ios", "activityId": "a",
                    ]
                    body[member] = value
                    try attempt("POST", "/api/push/register", .user("ann"), .object(body))
                }
                try attempt(
                    "POST", "/api/devices/register", .user(text),
                    [
                        "deviceToken": .string(tokens(1...1)[0]), "platform": "ios",
                        "deviceName": value, "appVersion": value,
                    ])
                try attempt("GET", "/api/devices", .user(text))
                try attempt("GET", "/api/devices", .claims([text: 1, "sub": value, "exp": value]))
                try attempt(
                    "POST", "/generate-api-key", .anyone,
                    ["user_id": value, "master_key": "master", "description": value])
                try attempt(
                    "POST", "/generate-api-key", .anyone,
                    ["user_id": "11", "master_key": "master", "description": value])
                try attempt(
                    "POST", "/api/notify", .backend,
                    .object(["users": [value], "title": value, text: 1]))
                try attempt(
                    "POST", "/api/notify", .backend,
                    [
                        "users": [value], "devices": [value], "title": value, "kind": value,
                        "subject": value,
                    ])
                try attempt("POST", "/api/events", .backend, ["event": value, "users": [value]])
                try attempt(
                    "POST", "/api/push/live-activity", .backend,
                    ["activityId": value, "contentState": [:]])
                let encoded = try #require(
                    text.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
                try attempt("DELETE", "/api/devices/\(encoded)", .user("ann"))
                try attempt("GET", "/check/\(encoded)", .key(String(repeating: "0a", count: 32)))
                try attempt("GET", "/api/badge?userId=\(encoded)", .backend)
                if door == .events {
                    for name in [
                        "X-API-Key", "Cookie", "Origin", "Content-Type", "Idempotency-Key",
                    ] {
                        try attempt(
                            "POST", "/api/notify", .backend, ["users": ["ann"], "title": "x"],
                            headers: [(name, text)])
                    }
                }
            }
            try installation.run("deliver")
            try installation.run("check-turns")
            let lines = installation.logLines()
            let foreign = lines.filter { programs, line in
                line.hasPrefix(forged) || !programs.allSatisfy { line.hasPrefix("\($0): ") }
                    || line.unicodeScalars.contains(where: \.movesCursor)
            }
            #expect(foreign.isEmpty)
            #expect(lines.contains { $0.line.contains("\\u001b") || $0.line.contains("\\u001B") })
            let files = installation.state.files().filter { name, bytes in
                (name.hasPrefix("receipts/") || name.hasSuffix(".log")
                    || name.hasPrefix("set-aside"))
                    && bytes.contains { $0 < 0x20 && $0 != 0x0a }
            }
            #expect(files.isEmpty)
            try row.report(
                "lines that no program wrote, after \(asked) requests and \(lines.count) lines",
                before: "1 for one request",
                now: "\(foreign.count)")
        }
    }
}

extension Unicode.Scalar {
    /// Whether a terminal or an editor does something with it other than showing it.
    fileprivate var movesCursor: Bool {
        switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}

/// Where a number is in a document's text.
private struct NumberPlace {
    let file: String
    private let text: String
    private let range: Range<String.Index>

    /// All of them, but for versions: a newer document is refused as it is.
    static func all(in text: String, of file: String) -> [NumberPlace] {
        text.matches(of: /"([a-z_]+)": ?(-?[0-9]+)/).filter { $0.output.1 != "version" }.map {
            NumberPlace(
                file: file, text: text, range: $0.output.2.startIndex..<$0.output.2.endIndex)
        }
    }

    func replaced(by number: String) -> String { text.replacingCharacters(in: range, with: number) }
}

extension Installation {
    /// Has documents of all kinds written.
    fileprivate func makeDocuments() throws {
        let key = try #require(makeKey(of: "1").json?.object?["api_key"]?.string)
        try register(tokens(1...1)[0], of: "1")
        try registerActivity(tokens(1...1, "a")[0], "a", session: "s", of: "1")
        for step in Int64(1)...2 {
            _ = try ask(
                "POST", "/api/push/live-activity", by: .backend,
                ["sessionId": "s", "contentState": ["step": .integer(step)]])
            _ = try ask("PUT", "/api/badge", by: .user("1"), ["badge": "+1"])
            try notify(["1"], ["idempotency_key": .string("\(step)"), "badge": "+1"])
            try run("check-turns")
            try simulator.perform(["do": "apns-fault", "status": 503, "count": 1])
            try run("deliver")
            try advance(seconds: 5)
        }
        try simulator.perform(["do": "ogs-fault", "status": 429, "retry_after": 7, "count": 1])
        _ = try ask(
            "PUT", "/api/preferences", by: .user("1"), ["mutedUntil": "2027-01-01T00:00:00Z"])
        try notify(["1"])
        try run("deliver")
        try advance(seconds: 31)
        try run("check-turns")
        _ = try ask("GET", "/check/1", by: .key(key))
        try notify(["1"], ["interruption_level": "time-sensitive"])
    }

    /// Runs the program that reads them.
    ///
    /// - Returns: how many programs that were.
    fileprivate func useDocuments() throws -> Int {
        try advance(seconds: 31)
        _ = try ask("PUT", "/api/badge", by: .user("1"), ["badge": "+1"])
        _ = try ask("GET", "/api/push/status", by: .user("1"))
        _ = try ask("GET", "/api/preferences", by: .user("1"))
        try register(tokens(1...1)[0], of: "1")
        _ = try ask(
            "POST", "/api/push/live-activity", by: .backend,
            ["sessionId": "s", "contentState": ["step": 9]])
        try notify(["1"])
        _ = try ask("GET", "/health", by: .backend)
        for program in ["check-turns", "deliver"] { try run(program) }
        return 9
    }
}

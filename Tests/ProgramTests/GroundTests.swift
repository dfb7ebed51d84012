import Foundation
import JSON
import TestSupport
import Testing
import Turnstone
import Unix

/// Programs in a bad environment: standard streams that are closed or do not block, paths that are not files,
/// a lack of descriptors, folders that cannot be read or made durable.
@Suite struct GroundTests {
    private static let body = #"{"user_id": "1783478", "device_token": "\#(Endpoint.token)"}"#
    private static let registration =
        #"{"method": "POST", "path": "/register", "headers": {"X-API-Key": "\#(Endpoint.key)"}, "body": \#(body)}"#

    private func start(
        _ command: String, _ program: String, in installation: Installation, input: String = ""
    ) throws -> EndedProgram {
        var environment = installation.environment
        environment["PROGRAM"] = Programs.path(program)
        return try Programs.start(
            at: "/bin/sh", ["-c", command], input: Array(input.utf8),
            entries: environment.map { "\($0.key)=\($0.value)" }
        ).end()
    }

    private static let closings = [
        "<&-", ">&-", "2>&-", "<&- >&-", "<&- 2>&-", ">&- 2>&-", "<&- >&- 2>&-",
    ]

    @Test(
        "with standard streams closed nothing that was meant for them gets into a file",
        arguments: Endpoint.all.map(\.program) + Endpoint.scheduled + ["front"], closings)
    func closed(program: String, closing: String) throws {
        let installation = try Endpoint.installation()
        // Something to say on each stream: an error that is logged, and an answer.
        let ended = try start(
            "exec \"$PROGRAM\" \(closing)", program, in: installation, input: "{\"method\": \"PUT\""
        )
        #expect([0, 100, 111].contains(ended.exitCode), "\(ended.exitCode) \(ended.stderr)")
        for (name, bytes) in installation.state.files() {
            let text = String(decoding: bytes, as: UTF8.self)
            #expect(!text.contains("\(program):"), "\(name): \(text)")
            #expect(!text.contains("statusCode"), "\(name): \(text)")
        }
    }

    @Test("a log that is closed leaves the drainer's files alone", arguments: closings)
    func closedDrainer(closing: String) throws {
        let installation = try Endpoint.installation()
        let message =
            #"{"method": "POST", "path": "/api/notify", "headers": {"Authorization": "Key \#(Endpoint.serverKey)"}, "#
            + #""body": {"devices": ["\#(Endpoint.token)"], "title": "x"}}"#
        let accepted = try Programs.run(
            "notify", stdin: message, environment: installation.environment)
        #expect(accepted.stdout.contains("202"))
        let command = "DELIVER_LINGER_SECONDS=0 exec \"$PROGRAM\" \(closing)"
        let ended = try start(command, "deliver", in: installation)
        #expect(ended.exitCode == 0)
        var receipts = 0
        for (name, bytes) in installation.state.files() where name.hasPrefix("receipts/") {
            for line in bytes.split(separator: UInt8(ascii: "\n")) {
                receipts += 1
                #expect((try? JSON.parse(Array(line)).object) != nil, "\(name)")
            }
        }
        #expect(receipts > 0)
        let sign = try JSON.parse(
            #require(installation.state.read("spool/apns/drainer.lock"))
        ).object
        #expect(sign?["term"] == 1 && sign?["ended"] == true)
    }

    @Test("an answer that is longer than a pipe that does not wait has room for comes whole")
    func slowReader() throws {
        let installation = try Endpoint.installation()
        let keys = (0..<2000).map { "\($0)".padding(toLength: 64, withPad: "a", startingAt: 0) }
        for key in keys {
            try installation.state.write(
                #"{"version":1,"revision":1,"owner":"1783478","description":"\#(key)","#
                    + #""created_at":1763733600000}"#, to: "keys/\(key.prefix(2))/\(key).json")
        }
        let list = String(
            decoding: JSON.text(JSONValue.array(keys.map { .string($0) })), as: UTF8.self)
        try installation.state.write(
            #"{"version":1,"revision":1,"devices":[],"ledger":[],"notices":0,"keys":\#(list)}"#,
            to: "users/eb/1783478.json")
        let event =
            #"{"method": "GET", "path": "/api-keys", "headers": {"X-API-Key": "\#(Endpoint.key)"}}"#
        // Both ends of the pipe are the same open file for F_SETFL: the reader waits by itself.
        let script = """
            import fcntl, os, subprocess, sys, time
            reader, writer = os.pipe()
            fcntl.fcntl(writer, fcntl.F_SETFL, os.O_NONBLOCK)
            program = subprocess.Popen([os.environ["PROGRAM"]], stdin=subprocess.PIPE, stdout=writer)
            os.close(writer)
            program.stdin.write(os.environ["EVENT"].encode())
            program.stdin.close()
            time.sleep(0.3)
            while piece := os.read(reader, 65536): sys.stdout.buffer.write(piece)
            sys.exit(program.wait())
            """
        var environment = installation.environment
        environment["PROGRAM"] = Programs.path("api-keys")
        environment["EVENT"] = event
        let ended = try Programs.start(
            at: "/usr/bin/python3", ["-c", script],
            entries: environment.map { "\($0.key)=\($0.value)" }
        ).end()
        #expect(ended.exitCode == 0, "\(ended.stderr)")
        #expect(ended.output.count > 200_000)
        #expect(try Answer(event: ended.stdout).json != nil)
    }

    @Test("an answer that cannot be written is logged, and a client that has gone is not")
    func unwritable() throws {
        let installation = try Endpoint.installation()
        let full = try start(
            "exec \"$PROGRAM\" >/dev/full", "health", in: installation,
            input: #"{"method": "GET", "path": "/health"}"#)
        #expect(full.exitCode == 111)
        #expect(
            full.stderr == "health: unable to write standard output: the disk is full (ENOSPC)\n")
        let gone = try start(
            "{ sleep 0.2; \"$PROGRAM\"; echo $? >&2; } | true", "health", in: installation,
            input: #"{"method": "GET", "path": "/health"}"#)
        #expect(gone.stderr == "0\n")
    }

    private static let odd: [(name: String, make: String, reason: String)] = [
        ("a FIFO", "mkfifo", "it is not a regular file"),
        ("a terabyte", "truncate -s 1T", "it is larger than 1 MiB"),
    ]

    @Test(
        "a configuration that is too large or not a file is refused and not read",
        arguments: odd.indices,
        [
            ("TURNSTONE_CONFIG", "register"), ("JWT_PUBLIC_KEY_PATH", "devices-list"),
            ("APNS_KEY_PATH", "deliver"), ("APNS_CA_FILE", "deliver"),
            ("OGS_CA_FILE", "check-turns"),
        ])
    func oddFiles(number: Int, variable: (name: String, program: String)) throws {
        let folder = TemporaryFolder()
        let path = "\(folder.path)/odd"
        var environment = [
            "APNS_KEY_ID": "ABCDE12345", "APNS_TEAM_ID": "TEAM123456",
            "APNS_BUNDLE_ID": "org.example.app",
        ]
        environment["JWT_SECRET"] = variable.name.hasPrefix("JWT") ? "" : nil
        if variable.name == "APNS_CA_FILE" {
            try folder.write(Self.key, to: "key.p8")
            environment["APNS_KEY_PATH"] = "\(folder.path)/key.p8"
        }
        environment[variable.name] = path
        let installation = try Endpoint.installation(environment: environment)
        let command = "\(Self.odd[number].make) '\(path)' && exec \"$PROGRAM\""
        let isScheduled = Endpoint.scheduled.contains(variable.program)
        let endpoint = Endpoint.alone.first { $0.program == variable.program }
        let input =
            isScheduled
            ? ""
            : #"{"method": "\#(endpoint?.method ?? "")", "path": "\#(endpoint?.path ?? "")", "#
                + #""headers": {"\#(endpoint?.credential?.name ?? "")": "\#(endpoint?.credential?.value ?? "")"}}"#
        let ended = try start(command, variable.program, in: installation, input: input)
        #expect(ended.stderr.contains(Self.odd[number].reason), "\(ended.stderr)")
        #expect(ended.stderr.contains(variable.name) || ended.stderr.contains(path))
        #expect(isScheduled ? ended.exitCode == 100 : ended.stdout.contains("503"))
    }

    /// A P-256 key, made for the tests.
    private static let key: String = {
        let ended = try? Programs.start(
            at: "/usr/bin/openssl",
            ["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"],
            entries: []
        ).end()
        return ended?.stdout ?? ""
    }()

    /// A program whose calls fail as requested from strace.
    private func failing(
        _ injection: String, _ program: String, _ input: String, in installation: Installation
    ) throws -> EndedProgram {
        try Programs.start(
            at: SystemCalls.tracer,
            [
                "-f", "-qq", "-o", "/dev/null", "-e", "trace=\(injection.prefix { $0 != ":" })",
                "-e",
                "inject=\(injection)", "--", Programs.path(program),
            ], input: Array(input.utf8),
            entries: installation.environment.map { "\($0.key)=\($0.value)" }
        ).end()
    }

    @Test(
        "a folder that cannot be read is not an empty one",
        .enabled(if: SystemCalls.isPossible, "strace is not installed"))
    func unreadableFolder() throws {
        for time in 1...3 {
            let installation = try Endpoint.installation()
            let registered = try Programs.run(
                "register", stdin: Self.registration, environment: installation.environment)
            #expect(registered.stdout.contains("200"))
            let ended = try failing(
                "getdents64:error=EIO:when=\(time)", "check-turns", "{}", in: installation)
            #expect(ended.exitCode == 111, "\(ended.stderr)")
            let again = try Programs.run(
                "check-turns", stdin: "{}", environment: installation.environment)
            #expect(again.stdout.contains(#""due":1"#), "\(time): \(again.stdout)")
        }
    }

    @Test(
        "a message is not accepted in a folder whose name may be lost",
        .enabled(if: SystemCalls.isPossible, "strace is not installed"))
    func folderThatMayBeLost() throws {
        let message =
            #"{"method": "POST", "path": "/api/notify", "headers": {"Authorization": "Key \#(Endpoint.serverKey)"}, "#
            + #""body": {"devices": ["\#(Endpoint.token)"], "title": "x"}}"#
        for (error, status) in [
            ("EIO", 503), ("ENOSPC", 503), ("EINVAL", 202), ("EOPNOTSUPP", 202),
        ] {
            let installation = try Endpoint.installation()
            let ended = try failing(
                "fsync:error=\(error):when=1", "notify", message, in: installation)
            #expect(try Answer(event: ended.stdout).status == status, "\(error): \(ended.stderr)")
        }
    }

    @Test(
        "front answers 503 if there are no descriptors",
        .enabled(if: SystemCalls.isPossible, "strace is not installed"),
        arguments: ["EMFILE", "ENFILE"])
    func noDescriptors(error: String) throws {
        let installation = try Endpoint.installation()
        let request = "GET /health HTTP/1.1\r\nHost: a\r\n\r\n"
        // From a pipe, which front copies to look at it.
        let command =
            "printf '\(request)' | exec \(SystemCalls.tracer) -qq -o /dev/null "
            + "-e inject=pipe,pipe2:error=\(error) \"$PROGRAM\""
        let ended = try start(command, "front", in: installation)
        #expect(try Answer(http: ended.stdout).status == 503, "\(ended.stdout) \(ended.stderr)")
    }

    @Test(
        "where the system has no random bytes, a key is not made",
        .enabled(if: SystemCalls.isPossible, "strace is not installed"),
        arguments: ["ENOSYS", "EINVAL", "EIO"])
    func noRandomBytes(error: String) throws {
        let installation = try Endpoint.installation()
        let event =
            #"{"method": "POST", "path": "/generate-api-key", "#
            + #""body": {"user_id": "7", "master_key": "\#(Endpoint.masterKey)"}}"#
        // The first calls may be the C library's and Swift's own, which do without.
        let ended = try failing(
            "getrandom:error=\(error)", "generate-api-key", event, in: installation)
        #expect(try Answer(event: ended.stdout).status == 503, "\(ended.stderr)")
        #expect(installation.state.read("users/4b/7.json") == nil)
    }
}

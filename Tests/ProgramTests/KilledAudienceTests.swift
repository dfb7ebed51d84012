import Foundation
import JSON
import TestSupport
import Testing
import Turnstone
import Unix

/// A change of a tag that is killed at each of its system calls: the index still finds the user by what the
/// document says.
@Suite struct KilledAudienceTests {
    private let installation: Installation

    init() throws { installation = try Endpoint.installation() }

    private func event(_ method: String, _ path: String, _ body: String) -> String {
        #"{"method": "\#(method)", "path": "\#(path)", "headers": {"Authorization": "Key \#(Endpoint.serverKey)"}, "body": \#(body)}"#
    }

    private func count(_ role: String) throws -> Int64? {
        let filter = #"{"field": "tag", "key": "role", "relation": "=", "value": "\#(role)"}"#
        let ended = try Programs.run(
            "notify",
            stdin: event("POST", "/api/notify/count", #"{"filters": [\#(filter)]}"#),
            environment: installation.environment)
        return try Answer(event: ended.stdout).json?.object?["users"]?.integer
    }

    private let file = "users/49/ann.json"

    private func role() throws -> String? {
        try installation.state.read(file).flatMap { try JSON.parse($0).object }?["profile"]?
            .object?["tags"]?.object?["role"]?.string
    }

    /// The calls by which the program reads and writes files.
    private static let calls = [
        "openat", "flock", "fstat", "newfstatat", "read", "pread64", "write", "pwrite64", "fsync",
        "rename", "close", "unlink",
    ]

    @Test("a kill at any system call", .enabled(if: SystemCalls.isPossible))
    func killed() throws {
        try installation.state.write(
            #"{"version":1,"revision":1,"devices":[{"token":"a1b2","registered_at":1795262340000}],"profile":{"tags":{"role":"r0"},"revision":1}}"#,
            to: file)
        #expect(try count("r0") == 1)
        var kills = 0
        for call in Self.calls {
            // Until the program makes fewer such calls.
            for number in 1...100 {
                guard try !change(to: "\(call)-\(number)", killedAt: call, number) else { break }
                kills += 1
                let role = try #require(try role())
                #expect(try count(role) == 1, "after \(call) \(number): \(role)")
            }
        }
        #expect(kills > 40, "it was killed \(kills) times")
    }

    // MARK: Files that are rewritten

    /// Users whose lines are in one file, and one whose are in another.
    private static let users = ["ann", "u480", "u575", "u747", "bob"]

    private func writeUsers(to state: TemporaryFolder) throws {
        for user in Self.users {
            let text =
                #"{"version":1,"revision":1,"devices":[{"token":"\#(user.utf8.map { String($0, radix: 16) }.joined())","registered_at":1795262340000}],"profile":{"tags":{"role":"r0"},"revision":1}}"#
            try state.write(text, to: "users/\(user == "bob" ? "81" : "49")/\(user).json")
        }
    }

    private func ask(
        _ program: String, _ event: String, in installation: Installation
    ) throws -> Answer {
        try Answer(
            event: Programs.run(program, stdin: event, environment: installation.environment)
                .stdout)
    }

    /// A message to all who have the role.
    private func message(_ role: String) -> String {
        let filter = #"{"field": "tag", "key": "role", "relation": "=", "value": "\#(role)"}"#
        return event("POST", "/api/notify", #"{"filters": [\#(filter)], "title": "x"}"#)
    }

    private func tagging(_ user: String, _ role: String) -> String {
        event("PATCH", "/api/users/\(user)", #"{"tags": {"role": "\#(role)"}}"#)
    }

    /// Runs a program that is killed before a call.
    private func run(
        _ program: String, _ event: String, killedBefore call: (name: String, number: Int),
        in installation: Installation
    ) throws -> Answer? {
        let ended = try Programs.start(
            at: SystemCalls.tracer,
            [
                "-qq", "-o", "/dev/null", "-e", "signal=none", "-e", "trace=\(call.name)", "-e",
                "inject=\(call.name):signal=SIGKILL:when=\(call.number)", "--",
                Programs.path(program),
            ], input: Array(event.utf8),
            entries: installation.environment.map { "\($0.key)=\($0.value)" }
        ).end()
        return try? Answer(event: ended.stdout)
    }

    /// The calls of a program that nothing hinders, each with its number among those of its name.
    private func calls(
        of program: String, _ event: String, in installation: Installation
    ) throws -> [(name: String, number: Int, arguments: String)] {
        var numbers: [String: Int] = [:]
        return try SystemCalls.of(
            Programs.path(program), input: Array(event.utf8),
            environment: installation.environment
        ).calls.calls.map { call in
            numbers[call.name, default: 0] += 1
            return (call.name, numbers[call.name] ?? 1, call.arguments)
        }
    }

    /// Whether a call may change a file, or ends the program. Before another one, a killed program leaves the
    /// same as before the next of these.
    private func changesAnything(_ name: String, _ arguments: String) -> Bool {
        name == "openat"
            ? arguments.contains("O_CREAT") || arguments.contains("O_TRUNC")
            : [
                "write", "writev", "pwrite64", "ftruncate", "fallocate", "rename", "unlink",
                "unlinkat", "rmdir", "mkdir", "link", "fchmod", "fsync", "fdatasync", "exit_group",
            ].contains(name)
    }

    private func installation(afterwards: (Installation) throws -> Void) throws -> Installation {
        let installation = try Endpoint.installation()
        try writeUsers(to: installation.state)
        try afterwards(installation)
        return installation
    }

    @Test(
        "making the index, killed at any system call: a message is refused or goes to everybody",
        .enabled(if: SystemCalls.isPossible), arguments: [false, true])
    func killedRebuild(isFirst: Bool) throws {
        func prepared() throws -> Installation {
            try installation { installation in
                guard !isFirst else { return }
                _ = try ask("notify", message("r0"), in: installation)
                _ = try ask("users", tagging("u480", "r1"), in: installation)
                // Lines that tell nothing true.
                let file = "audience/49.jsonl"
                let lines = try #require(installation.state.read(file))
                try installation.state.write(
                    lines + Array(#"{"u":"u575","t":{"role":"r9"}}\#n{"u":"gone"}\#n"#.utf8),
                    to: file)
                try installation.state.remove("audience/index.json")
            }
        }
        let all = try calls(of: "notify", message("r0"), in: prepared())
        // Each of 256 files is made by the same calls: those of the one with users, the start and the end.
        func place(_ file: String) throws -> Int {
            try #require(all.firstIndex { $0.arguments.contains("/audience/\(file)") })
        }
        let (start, first, last) = try (place("00.jsonl"), place("49.jsonl"), place("4a.jsonl"))
        let end = try #require(all.lastIndex { $0.arguments.contains("/audience/ff.jsonl.new") })
        let chosen = all.indices.filter {
            ($0 < start + 12 || $0 >= first && $0 < last || $0 >= end)
                && changesAnything(all[$0].name, all[$0].arguments)
        }
        var kills = 0
        for place in chosen {
            let call = all[place]
            let installation = try prepared()
            let answer = try run(
                "notify", message("r0"), killedBefore: (call.name, call.number), in: installation)
            if answer == nil { kills += 1 }
            // A change between the kill and the next message.
            if place % 3 == 0 {
                #expect(
                    try ask("users", tagging("u747", "r1"), in: installation).status == 200)
            }
            let changed = (isFirst ? 0 : 1) + (place % 3 == 0 ? 1 : 0)
            for (role, count) in [("r0", Self.users.count - changed), ("r1", changed)] {
                let answer = try ask("notify", message(role), in: installation)
                #expect(
                    answer.status == 202
                        && answer.json?.object?["devices"] == .integer(Int64(count)),
                    "\(call.name) \(call.number), \(role): \(answer.status) \(answer.body)")
            }
            let lines = installation.state.read("audience/49.jsonl") ?? []
            #expect(!String(decoding: lines, as: UTF8.self).contains("gone"))
        }
        #expect(kills > 20 && kills > chosen.count - 10, "\(kills) of \(chosen.count)")
    }

    @Test(
        "writing a long file anew, killed at any system call: nobody is left out",
        .enabled(if: SystemCalls.isPossible))
    func killedCompaction() throws {
        // More than a megabyte of lines that are no longer valid.
        var old = ""
        let long = String(repeating: "x", count: 160)
        for number in 0..<6000 {
            old +=
                #"{"u":"ann","t":{"role":"r1","old":"\#(long)\#(number)"}}"# + "\n"
        }
        func prepared() throws -> Installation {
            try installation { installation in
                _ = try ask("notify", message("r0"), in: installation)
                let file = "audience/49.jsonl"
                let text = String(
                    decoding: try #require(installation.state.read(file)), as: UTF8.self)
                let last = try #require(
                    text.split(separator: "\n").first { $0.hasPrefix(#"{"u":"ann""#) })
                try installation.state.write("\(text)\(old)\(last)\n", to: file)
            }
        }
        let event = tagging("ann", "r1")
        let unhindered = try prepared()
        let all = try calls(of: "users", event, in: unhindered)
        #expect(try #require(unhindered.state.read("audience/49.jsonl")).count < 10_000)
        var kills = 0
        for call in all where changesAnything(call.name, call.arguments) {
            let installation = try prepared()
            let answer = try run(
                "users", event, killedBefore: (call.name, call.number), in: installation)
            if answer?.status != 200 { kills += 1 }
            let text = String(
                decoding: installation.state.read("users/49/ann.json") ?? [], as: UTF8.self)
            let isChanged = text.contains(#""role":"r1""#)
            for (role, count) in [("r0", isChanged ? 4 : 5), ("r1", isChanged ? 1 : 0)] {
                let answer = try ask("notify", message(role), in: installation)
                #expect(
                    answer.status == 202
                        && answer.json?.object?["devices"] == .integer(Int64(count)),
                    "\(call.name) \(call.number), \(role): \(answer.status) \(answer.body)")
            }
            #expect(try ask("users", event, in: installation).status == 200)
        }
        #expect(kills > 10, "\(kills) of \(all.count)")
    }

    @Test(
        "a change that cannot add its line while the index is being finished has it made again",
        .enabled(if: SystemCalls.isPossible))
    func givenUpAtTheEnd() throws {
        let count = event("POST", "/api/notify/count", #"{"everyone": true}"#)
        // The call that says that all parts are made.
        let last = try #require(
            try calls(of: "notify", count, in: installation { _ in }).last {
                ["rename", "pwrite64"].contains($0.name)
            })
        let installation = try installation { _ in }
        let program = try Programs.start(
            at: SystemCalls.tracer,
            [
                "-qq", "-o", "/dev/null", "-e", "signal=none", "-e", "trace=\(last.name)", "-e",
                "inject=\(last.name):delay_enter=4000000:when=\(last.number)", "--",
                Programs.path("notify"),
            ], input: Array(count.utf8),
            entries: installation.environment.map { "\($0.key)=\($0.value)" })
        var statement = ""
        for _ in 0..<1500 where !statement.contains(#""parts":255"#) {
            usleep(20_000)
            let bytes = installation.state.read("audience/index.json") ?? []
            statement = String(decoding: bytes, as: UTF8.self)
        }
        try #require(statement.contains(#""parts":255"#))
        usleep(1_000_000)
        let file = "audience/49.jsonl"
        let lines = try #require(installation.state.read(file))
        try installation.state.remove(file)
        try installation.state.write("", to: "\(file)/x")
        #expect(try ask("users", tagging("ann", "r1"), in: installation).status == 200)
        try installation.state.remove(file)
        try installation.state.write(lines, to: file)
        #expect(try Answer(event: program.end().stdout).status == 200)
        let answer = try ask("notify", message("r1"), in: installation)
        #expect(answer.json?.object?["devices"] == 1, "\(answer.body)")
    }

    @Test(
        "a new user is in the first index though the program that wrote the document was killed",
        .enabled(if: SystemCalls.isPossible),
        arguments: [("u903", "u903"), ("a184@example.org", "a184=40example=2eorg")])
    func killedWhileFirstMade(user: String, name: String) throws {
        let change = tagging(user, "r1")
        let all = try calls(of: "users", change, in: installation { _ in })
        let commit = try #require(
            all.firstIndex {
                $0.name == "rename" && $0.arguments.contains("/users/49/\(name).json")
            })
        // What would append the final line.
        let append = try #require(
            all[commit...].first {
                $0.name == "openat" && $0.arguments.contains("/audience/49.jsonl")
            })
        let installation = try installation { _ in }
        let program = try Programs.start(
            at: SystemCalls.tracer,
            [
                "-qq", "-o", "/dev/null", "-e", "signal=none", "-e", "trace=rename,openat", "-e",
                "inject=rename:delay_enter=1500000:when=\(all[commit].number)", "-e",
                "inject=openat:signal=SIGKILL:when=\(append.number)", "--",
                Programs.path("users"),
            ], input: Array(change.utf8),
            entries: installation.environment.map { "\($0.key)=\($0.value)" })
        for _ in 0..<1500 where installation.state.read("users/49/\(name).json.new") == nil {
            usleep(2000)
        }
        let sent = try ask("notify", message("r0"), in: installation)
        #expect(sent.json?.object?["devices"] == 5, "\(sent.body)")
        #expect(try program.end().stdout.isEmpty)
        #expect(installation.state.read("users/49/\(name).json") != nil)
        let lines = installation.state.read("audience/49.jsonl") ?? []
        #expect(String(decoding: lines, as: UTF8.self).contains("\"\(user)\""))
    }

    @Test("a first registration that was killed before its commit is in no list and in no count")
    func killedBeforeItsCommit() throws {
        let installation = try installation { installation in
            _ = try ask("notify", message("r0"), in: installation)
            let file = "audience/49.jsonl"
            let lines = try #require(installation.state.read(file))
            let leftOver = #"{"u":"u903","also":true,"t":{"role":"r0"},"d":["obI"]}"# + "\n"
            try installation.state.write(lines + Array(leftOver.utf8), to: file)
        }
        let everyone = event("POST", "/api/notify/count", #"{"everyone": true}"#)
        let counted = try ask("notify", everyone, in: installation)
        #expect(counted.json?.object?["users"] == 5, "\(counted.body)")
        let sent = try ask("notify", message("r0"), in: installation)
        #expect(sent.json?.object?["devices"] == 5, "\(sent.body)")
        var listed: [String] = []
        for offset in [0, 2, 4, 6] {
            let path = "/players?app_id=\(Endpoint.appID)&limit=2&offset=\(offset)"
            let answer = try ask(
                "onesignal-players", event("GET", path, "null"), in: installation)
            #expect(answer.json?.object?["total_count"] == 5, "\(answer.body)")
            let players = answer.json?.object?["players"]?.array ?? []
            listed += players.compactMap { $0.object?["external_user_id"]?.string }
        }
        #expect(listed.sorted() == Self.users.sorted())
        try installation.state.remove("audience/index.json")
        #expect(try ask("notify", everyone, in: installation).json?.object?["users"] == 5)
        let lines = installation.state.read("audience/49.jsonl") ?? []
        #expect(!String(decoding: lines, as: UTF8.self).contains("u903"))
    }

    @Test("a device that has gone since leaves its place in the list empty, and the others theirs")
    func gonePlayer() throws {
        let installation = try installation { installation in
            _ = try ask("notify", message("r0"), in: installation)
            // As after a restored folder whose index was left as it was.
            try installation.state.remove("users/49/u575.json")
        }
        var listed: [String] = []
        for offset in 0..<5 {
            let path = "/players?app_id=\(Endpoint.appID)&limit=1&offset=\(offset)"
            let answer = try ask(
                "onesignal-players", event("GET", path, "null"), in: installation)
            let players = answer.json?.object?["players"]?.array ?? []
            listed += players.compactMap { $0.object?["external_user_id"]?.string }
        }
        #expect(listed.sorted() == Self.users.filter { $0 != "u575" }.sorted())
    }

    @Test("a program that holds users' locks stops no message while the index is made")
    func locked() throws {
        let installation = try installation { _ in }
        let lock = try SharedLock.open(of: "users/49/ann.json", in: installation.state)
        #expect(try lock.tryLock())
        let answer = try ask("notify", message("r0"), in: installation)
        #expect(answer.status == 202 && answer.json?.object?["devices"] == 5, "\(answer.body)")
        lock.unlock()
        #expect(try ask("users", tagging("ann", "r1"), in: installation).status == 200)
        for (role, count) in [("r0", 4), ("r1", 1)] {
            let answer = try ask("notify", message(role), in: installation)
            #expect(answer.json?.object?["devices"] == .integer(Int64(count)), "\(answer.body)")
        }
    }

    @Test("while another program makes the index, a message is put off")
    func beingMade() throws {
        let installation = try installation { _ in }
        let lock = "audience/index.json.lock"
        try installation.state.write("", to: lock)
        let file = try FileDescriptor.open("\(installation.state.path)/\(lock)", .update)
        #expect(try file.tryLock())
        let refused = try ask("notify", message("r0"), in: installation)
        #expect(refused.status == 503 && refused.headers["retry-after"] != nil, "\(refused)")
        // A change goes on meanwhile.
        #expect(try ask("users", tagging("ann", "r1"), in: installation).status == 200)
        file.unlock()
        let answer = try ask("notify", message("r0"), in: installation)
        #expect(answer.json?.object?["devices"] == 4, "\(answer.body)")
    }

    @Test("what is in place of index.json makes way: 503 once, and then everybody gets a message")
    func statementInPlace() throws {
        let installation = try installation { installation in
            _ = try ask("notify", message("r0"), in: installation)
            try installation.state.remove("audience/index.json")
            try installation.state.write("", to: "audience/index.json/x/y")
        }
        let refused = try Programs.run(
            "notify", stdin: message("r0"), environment: installation.environment)
        let answer = try Answer(event: refused.stdout)
        #expect(answer.status == 503 && answer.headers["retry-after"] == "1", "\(answer.body)")
        #expect(refused.stderr.contains("audience/index.json"), "\(refused.stderr)")
        let sent = try ask("notify", message("r0"), in: installation)
        #expect(sent.status == 202 && sent.json?.object?["devices"] == 5, "\(sent.body)")
    }

    /// - Returns: whether it was not killed.
    private func change(to role: String, killedAt call: String, _ number: Int) throws -> Bool {
        let body = #"{"tags": {"role": "\#(role)"}}"#
        let ended = try Programs.start(
            at: SystemCalls.tracer,
            [
                "-qq", "-o", "/dev/null", "-e", "signal=none", "-e",
                "inject=\(call):signal=SIGKILL:when=\(number)", "--", Programs.path("users"),
            ], input: Array(event("PATCH", "/api/users/ann", body).utf8),
            entries: installation.environment.map { "\($0.key)=\($0.value)" }
        ).end()
        return ended.stdout.contains(#""statusCode":200"#)
    }
}

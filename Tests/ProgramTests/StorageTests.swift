import Foundation
import JSON
import TestSupport
import Testing
import Turnstone

/// State folders on file systems that several machines may share.
///
/// Most of these tests let strace write another kind of file system into the system's answer. The programs
/// themselves have nothing by which the kind can be set.
@Suite struct StorageTests {
    /// FUSE_SUPER_MAGIC, little endian.
    fileprivate static let fuse = "46557365"

    private func ended(
        _ program: String, in environment: [String: String], input: String, kind: String? = fuse,
        _ options: [String] = []
    ) throws -> EndedProgram {
        let injection =
            kind.map { ["-e", "inject=statfs:poke_exit=@arg2=\($0)00000000"] } ?? []
        return try Programs.start(
            at: SystemCalls.tracer,
            ["-qq", "-o", "/dev/null", "-e", "trace=statfs,utimensat"] + injection + options
                + ["--", Programs.path(program)],
            input: Array(input.utf8), entries: environment.map { "\($0.key)=\($0.value)" }
        ).end()
    }

    private static let registration =
        #"{"method": "POST", "path": "/register", "headers": {"X-API-Key": "\#(Endpoint.key)"}, "#
        + #""body": {"user_id": "1783478", "device_token": "\#(Endpoint.token)"}}"#

    private static let message =
        #"{"method": "POST", "path": "/api/notify", "headers": {"Authorization": "Key \#(Endpoint.serverKey)"}, "#
        + #""body": {"users": ["1783478"], "title": "Your turn"}}"#

    private static func command(_ folder: String) -> String {
        "Run: storage-test \(folder)"
    }

    @Test(
        "programs refuse a file system that is not local, and touch nothing",
        .enabled(if: SystemCalls.isPossible, "strace is not installed"),
        arguments: [
            "register", "notify", "check-turns", "deliver", "deliver-web", "check", "push-config",
        ])
    func refused(program: String) throws {
        let installation = try Endpoint.installation()
        let before = installation.state.files()
        let endpoint = Endpoint.alone.first { $0.program == program }
        let event = endpoint.map { Self.event(for: $0) } ?? ""
        let ended = try ended(program, in: installation.environment, input: event)
        #expect(ended.stderr.contains(Self.command(installation.state.path)), "\(ended.stderr)")
        if endpoint == nil {
            #expect(ended.exitCode == 100)
            #expect(ended.stdout == "")
        } else {
            #expect(ended.exitCode == 0)
            #expect(try Answer(event: ended.stdout).status == 503)
        }
        #expect(installation.state.files() == before)
    }

    private static func event(for endpoint: Endpoint) -> String {
        let header = endpoint.credential.map { #""\#($0.name)": "\#($0.value)""# } ?? ""
        return #"{"method": "\#(endpoint.method)", "path": "\#(endpoint.path)", "#
            + #""headers": {\#(header)}, "body": \#(endpoint.body ?? "{}")}"#
    }

    @Test(
        "a new folder on such a file system stays empty",
        .enabled(if: SystemCalls.isPossible, "strace is not installed"))
    func newFolder() throws {
        let installation = try Installation()
        let ended = try ended("check-turns", in: installation.environment, input: "")
        #expect(ended.exitCode == 100)
        #expect(installation.state.files() == [:])
    }

    /// While the file system is not mounted, the mount point is an empty folder.
    @Test(
        "a folder that machines share is not begun on this machine's own disk",
        arguments: ["register", "notify", "check-turns", "deliver", "health"])
    func notMounted(program: String) throws {
        let installation = try Endpoint.installation()
        var environment = installation.environment
        let mountPoint = TemporaryFolder()
        environment["TURNSTONE_STATE"] = "\(mountPoint.path)/ogs/state"
        environment["TURNSTONE_STORAGE"] = "shared"
        let endpoint = Endpoint.alone.first { $0.program == program }
        let event =
            endpoint.map { Self.event(for: $0) } ?? (program == "health" ? Self.health : "")
        let ended = try Programs.run(program, stdin: event, environment: environment)
        let sentence = "it is on this machine's own disk, but TURNSTONE_STORAGE=shared says"
        if ["check-turns", "deliver"].contains(program) {
            #expect(ended.exitCode == 100)
        } else {
            #expect(try Answer(event: ended.stdout).status == 503)
        }
        #expect((ended.stdout + ended.stderr).contains(sentence), "\(ended)")
        #expect(mountPoint.files() == [:])

        environment["TURNSTONE_STORAGE"] = "local"
        let wrong = try Programs.run(program, stdin: event, environment: environment)
        let demand = "unable to use TURNSTONE_STORAGE (environment): must be shared, or not be set"
        #expect((wrong.stdout + wrong.stderr).contains(demand), "\(wrong)")
        #expect(mountPoint.files() == [:])
    }

    private static let health =
        #"{"method": "GET", "path": "/health", "headers": {"Authorization": "Key \#(Endpoint.serverKey)"}}"#

    @Test(
        "health and status name it as a problem, with the command",
        .enabled(if: SystemCalls.isPossible, "strace is not installed"),
        arguments: [("health", "/health"), ("status", "/api/status")])
    func problem(program: String, path: String) throws {
        let installation = try Endpoint.installation()
        let event =
            #"{"method": "GET", "path": "\#(path)", "headers": {"Authorization": "Key \#(Endpoint.serverKey)"}}"#
        let answer = try Answer(
            event: ended(program, in: installation.environment, input: event).stdout)
        let problems = answer.json?.object?["problems"]?.array ?? []
        #expect(problems.count == 1, "\(answer)")
        #expect(problems.first?.object?["problem"] == "storage")
        let message = problems.first?.object?["message"]?.string ?? ""
        #expect(message.contains(Self.command(installation.state.path)), "\(message)")
    }

    @Test(
        "local file systems need no test, others do",
        .enabled(if: SystemCalls.isPossible, "strace is not installed"),
        arguments: [
            ("ext4", "53ef0000", true), ("xfs", "42534658", true), ("btrfs", "3e682391", true),
            ("tmpfs", "94190201", true), ("overlayfs", "30764c79", true),
            ("aufs", "73667561", true), ("zfs", "c12fc12f", true), ("f2fs", "1020f5f2", true),
            ("wslfs", "46484653", true), ("nfs", "69690000", false),
            ("cifs", "42424dff", false), ("smb2", "424d53fe", false), ("ceph", "0036c300", false),
            ("9p", "97190201", false), ("gfs2", "70191601", false), ("ocfs2", "6f636174", false),
            ("afs", "5f4b4148", false), ("fuse", fuse, false),
            ("an unknown one", "01020304", false),
        ])
    func kinds(name: String, kind: String, isLocal: Bool) throws {
        let installation = try Endpoint.installation()
        let ended = try ended(
            "register", in: installation.environment, input: Self.registration, kind: kind)
        #expect(try Answer(event: ended.stdout).status == (isLocal ? 200 : 503), "\(name)")
    }

    @Test(
        "the test's record counts on the same mount and machine, and in its own file only",
        .enabled(if: SystemCalls.isPossible, "strace is not installed"))
    func record() throws {
        let installation = try Endpoint.installation()
        let folder = installation.state
        func status() throws -> Int {
            try Answer(
                event: ended("register", in: installation.environment, input: Self.registration)
                    .stdout
            ).status
        }
        #expect(try status() == 503)
        let test = try Programs.run("storage-test", [folder.path], environment: [:])
        #expect(test.exitCode == 0, "\(test.stdout) \(test.stderr)")
        #expect(!test.stdout.contains("not ok"))
        #expect(folder.files().keys.allSatisfy { !$0.hasPrefix("storage-test.") })
        #expect(try status() == 200)
        let good = try #require(folder.read("storage.json"))
        let members = try #require(try JSON.parse(good).object)
        #expect(members["machines"] == "one")
        /// Writes into the same file, as no program does.
        func change(_ name: String, to value: JSONValue) throws {
            var changed = members
            changed[name] = value
            let file = try #require(FileHandle(forWritingAtPath: "\(folder.path)/storage.json"))
            try file.truncate(atOffset: 0)
            try file.write(contentsOf: Data(JSON.text(.object(changed))))
            try file.close()
        }
        for (name, value) in [
            ("host", "another"), ("machines", "none"), ("file_system", "fuse.other"),
            ("options", []), ("version", 1), ("inode", 1),
        ] as [(String, JSONValue)] {
            try change(name, to: value)
            #expect(try status() == 503, "\(name)")
            try change("version", to: 2)
            #expect(try status() == 200, "\(name)")
        }
        try change("machines", to: "several")
        #expect(try status() == 200)
        // A copy, as from a backup on another volume.
        try folder.write(good, to: "storage.copy")
        try FileManager.default.removeItem(atPath: "\(folder.path)/storage.json")
        #expect(try status() == 503)
        try FileManager.default.moveItem(
            atPath: "\(folder.path)/storage.copy", toPath: "\(folder.path)/storage.json")
        #expect(try status() == 503)
    }

    @Test(
        "a file system's clock that differs by a minute is refused with a sentence",
        .enabled(if: SystemCalls.isPossible, "strace is not installed"),
        arguments: [
            (-600.0, "s behind this"), (-20, nil), (0, nil), (30, nil), (600, "s ahead of"),
        ] as [(Double, String?)])
    func clock(distance: Double, sentence: String?) throws {
        let installation = try Endpoint.installation()
        let folder = installation.state.path
        let test = try Programs.run("storage-test", [folder], environment: [:])
        #expect(test.exitCode == 0, "\(test.stdout) \(test.stderr)")
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: distance)],
            ofItemAtPath: "\(folder)/storage.json")
        let ended = try ended(
            "register", in: installation.environment, input: Self.registration,
            ["-e", "inject=utimensat:retval=0"])
        #expect(try Answer(event: ended.stdout).status == (sentence == nil ? 200 : 503))
        for words in sentence.map({ [$0, "Set both by NTP"] }) ?? [] {
            #expect(ended.stderr.contains(words), "\(ended.stderr)")
        }
    }

    /// Checks that whatever is locked is opened again, used by that descriptor only, and closed before the lock is
    /// released.
    ///
    /// - Returns: how many locks were taken and given back.
    private static func locks(in traced: SystemCalls, of program: String) throws -> Int {
        var paths: [Int: String] = [:]
        /// By the descriptor that is locked: the one that was opened under the lock, 0 before, -1 after its close.
        var held: [Int: Int] = [:]
        var count = 0
        for call in traced.calls {
            let file = Int(call.arguments.prefix { $0 != "," }) ?? -1
            switch call.name {
            case "open", "openat":
                guard let result = call.result, result >= 0, let path = call.text(0) else { break }
                if let lock = held.first(where: { $0.value == 0 && paths[$0.key] == path })?.key {
                    held[lock] = result
                }
                paths[result] = path
            case "flock" where call.arguments.contains("LOCK_EX") && call.result == 0:
                held[file] = 0
            case "flock" where call.arguments.contains("LOCK_UN"), "close":
                if call.name == "close" {
                    for (lock, again) in held where again == file { held[lock] = -1 }
                }
                guard let again = held.removeValue(forKey: file) else { break }
                #expect(again == -1, "\(program): \(paths[file] ?? "") is released first")
                count += 1
            case "flock", "statfs", "fstatfs": break
            default: #expect(held[file] == nil, "\(program): \(call.name)(\(call.arguments))")
            }
        }
        return count
    }

    @Test(
        "what is read and written under a lock is opened under it, and closed before it is released",
        .enabled(if: SystemCalls.isPossible, "strace is not installed"))
    func openedUnderLock() throws {
        let installation = try Endpoint.installation(environment: ["DELIVER_LINGER_SECONDS": "0"])
        let test = try Programs.run("storage-test", [installation.state.path], environment: [:])
        #expect(test.exitCode == 0, "\(test.stdout) \(test.stderr)")
        var locks = 0
        let users =
            #"{"method": "GET", "path": "/api/users/1783478", "headers": {"Authorization": "Key \#(Endpoint.serverKey)"}}"#
        let erasure = users.replacing("GET", with: "DELETE")
        // Each twice: the first time most files are new.
        for (program, input) in [
            ("register", Self.registration), ("notify", Self.message), ("check-turns", ""),
            ("deliver", ""), ("users", users), ("users", erasure),
        ] {
            for _ in 1...2 {
                let (traced, ended) = try SystemCalls.of(
                    Programs.path(program),
                    [
                        "statfs", "fstatfs", "open", "openat", "flock", "read", "pread64", "write",
                        "pwrite64", "fsync", "fdatasync", "ftruncate", "fallocate", "lseek",
                        "close",
                    ],
                    input: Array(input.utf8), environment: installation.environment,
                    options: ["-e", "inject=statfs,fstatfs:poke_exit=@arg2=\(Self.fuse)00000000"])
                #expect(ended.exitCode == 0, "\(program): \(ended.stderr)")
                locks += try Self.locks(in: traced, of: program)
            }
        }
        #expect(locks > 20)
    }

    @Test(
        "a program asks for the kind of its folder's file system once, and not at all without a state folder",
        .enabled(if: SystemCalls.isPossible, "strace is not installed"))
    func cost() throws {
        func count(_ program: String, _ input: String) throws -> Int {
            let installation = try Endpoint.installation()
            let (traced, _) = try SystemCalls.of(
                Programs.path(program), ["statfs"], input: Array(input.utf8),
                environment: installation.environment)
            return traced.calls.count { $0.text(0) == installation.state.path }
        }
        // `health` and `status` also ask how much room there is.
        for endpoint in Endpoint.alone where !["health", "status"].contains(endpoint.program) {
            #expect(
                try count(endpoint.program, Self.event(for: endpoint)) <= 1, "\(endpoint.program)")
        }
        #expect(try count("register", Self.registration) == 1)
        #expect(try count("check-turns", "") == 1)
        #expect(try count("register", #"{"method": "GET", "path": "/register"}"#) == 0)
        #expect(try count("front", #"{"method": "GET", "path": "/nowhere"}"#) == 0)
    }
}

/// Answers that only network file systems give.
@Suite(.enabled(if: SystemCalls.isPossible, "strace is not installed"))
struct NetworkStorageTests {
    private func register(
        _ installation: Installation, _ options: [String]
    ) throws -> Answer {
        let event =
            #"{"method": "POST", "path": "/register", "headers": {"X-API-Key": "\#(Endpoint.key)"}, "#
            + #""body": {"user_id": "1783478", "device_token": "\#(Endpoint.token)"}}"#
        let ended = try Programs.start(
            at: SystemCalls.tracer,
            ["-qq", "-o", "/dev/null"] + options + ["--", Programs.path("register")],
            input: Array(event.utf8),
            entries: installation.environment.map { "\($0.key)=\($0.value)" }
        ).end()
        return try Answer(event: ended.stdout)
    }

    @Test(
        "a file system that is away is 503, as it may be back soon",
        arguments: ["ENOTCONN", "ECONNABORTED"])
    func away(error: String) throws {
        let answer = try register(
            Endpoint.installation(), ["-e", "trace=fsync", "-e", "inject=fsync:error=\(error)"])
        #expect(answer.status == 503)
        #expect(answer.headers["retry-after"] == "5")
    }

    @Test("health calls a mount that is away neither a wrong configuration nor a wrong account")
    func healthWithoutTheMount() throws {
        let installation = try Endpoint.installation()
        let folder = TemporaryFolder()
        try folder.write(#"{"method": "GET", "path": "/health"}"#, to: "event")
        // Through a file, as at a shell: then it gives its reasons.
        let ended = try Programs.start(
            at: "/bin/sh",
            [
                "-c", #"exec "$@" <"$0""#, "\(folder.path)/event", SystemCalls.tracer, "-qq", "-o",
                "/dev/null", "-P", installation.state.path, "-P",
                "\(installation.state.path)/version.json", "-e",
                "inject=openat,open,stat,newfstatat,access,mkdir,statfs:error=ENOTCONN", "--",
                Programs.path("health"),
            ], input: [], entries: installation.environment.map { "\($0.key)=\($0.value)" }
        ).end()
        let answer = try Answer(event: ended.stdout)
        let problem = answer.json?.object?["problems"]?.array?.first?.object
        #expect(answer.status == 503)
        #expect(problem?["problem"] == "state folder", "\(ended.stdout)")
        #expect(problem?["action"]?.string?.contains("Mount") == true, "\(ended.stdout)")
    }

    @Test(
        "a file that another machine replaced while it was read is read again",
        arguments: ["ESTALE", "ENOENT", "EBADF"])
    func replaced(error: String) throws {
        let installation = try Endpoint.installation()
        let answer = try register(
            installation,
            [
                "-P", "\(installation.state.path)/version.json", "-e", "trace=read", "-e",
                "inject=read:error=\(error):when=1",
            ])
        #expect(answer.status == 200)
    }

    @Test("a file that another machine has just created is opened again")
    func created() throws {
        let installation = try Endpoint.installation()
        #expect(try register(installation, ["-e", "trace=none"]).status == 200)
        let name = SharedLock.file(of: "users/eb/1783478.json")
        #expect(installation.state.read(name) != nil)
        let answer = try register(
            installation,
            [
                "-P", "\(installation.state.path)/\(name)", "-e", "trace=openat,open", "-e",
                "inject=openat,open:error=EEXIST:when=1..3",
            ])
        #expect(answer.status == 200)
    }

    @Test(
        "a lock file that seems to be gone or replaced when it is opened under its lock is still locked",
        arguments: [("ENOENT", 200), ("ESTALE", 200), ("EBADF", 200), ("EMFILE", 503)])
    func openedAgain(error: String, status: Int) throws {
        let installation = try Endpoint.installation()
        #expect(try register(installation, ["-e", "trace=none"]).status == 200)
        let name = SharedLock.file(of: "users/eb/1783478.json")
        let answer = try register(
            installation,
            [
                "-P", "\(installation.state.path)/\(name)", "-e", "trace=openat,open,fstatfs", "-e",
                "inject=fstatfs:poke_exit=@arg2=4655736500000000", "-e",
                "inject=openat,open:error=\(error):when=2",
            ])
        #expect(answer.status == status, "\(answer)")
    }

    /// Runs a program where the first `count` attempts to open a file find none.
    private func answer(
        _ program: String, to event: String, in installation: Installation,
        withoutFile name: String, count: Int, isShared: Bool = true
    ) throws -> Answer {
        let kind =
            isShared
            ? ["-e", "inject=statfs:poke_exit=@arg2=\(StorageTests.fuse)00000000"] : []
        let folder = installation.state.path
        let ended = try Programs.start(
            at: SystemCalls.tracer,
            [
                "-qq", "-o", "/dev/null", "-P", "\(folder)/\(name)", "-P", folder, "-e",
                "trace=openat,open,statfs", "-e",
                "inject=openat,open:error=ENOENT:when=1..\(count)",
            ] + kind + ["--", Programs.path(program)],
            input: Array(event.utf8),
            entries: installation.environment.map { "\($0.key)=\($0.value)" }
        ).end()
        return try Answer(event: ended.stdout)
    }

    /// A state folder with a device, which machines share.
    private func shared() throws -> Installation {
        let installation = try Endpoint.installation()
        #expect(try register(installation, ["-e", "trace=none"]).status == 200)
        let test = try Programs.run("storage-test", [installation.state.path], environment: [:])
        #expect(test.exitCode == 0, "\(test.stdout) \(test.stderr)")
        return installation
    }

    @Test(
        "a document that seems to be missing while it is replaced is looked for again, at last under its lock",
        arguments: [(3, false), (3, true), (8, true), (12, true)])
    func missing(count: Int, isShared: Bool) throws {
        let installation = try shared()
        let name = try #require(
            installation.state.files().keys.first { $0.hasSuffix("/1783478.json") })
        let answer = try answer(
            "devices-list",
            to: #"{"method": "GET", "path": "/api/devices", "#
                + #""headers": {"X-API-Key": "\#(Endpoint.key)"}}"#,
            in: installation, withoutFile: name, count: count, isShared: isShared)
        #expect(answer.status == 200, "\(answer)")
    }

    @Test("so is the record of a message, which its sender has cancelled", arguments: [1, 5, 8])
    func missingRecord(count: Int) throws {
        let installation = try shared()
        let key = #""headers": {"Authorization": "Key \#(Endpoint.serverKey)"}"#
        let accepted = try Programs.run(
            "notify",
            stdin: #"{"method": "POST", "path": "/api/notify", \#(key), "#
                + #""body": {"users": ["1783478"], "title": "Your turn"}}"#,
            environment: installation.environment)
        #expect(try Answer(event: accepted.stdout).status == 202)
        let name = try #require(
            installation.state.files().keys.first {
                $0.hasPrefix("messages/") && $0.hasSuffix(".json")
            })
        let id = (name as NSString).lastPathComponent.dropLast(5)
        let cancelled = try Programs.run(
            "notify", stdin: #"{"method": "DELETE", "path": "/api/notify/\#(id)", \#(key)}"#,
            environment: installation.environment)
        #expect(try Answer(event: cancelled.stdout).status == 200)
        let answer = try answer(
            "notify", to: #"{"method": "GET", "path": "/api/notify/\#(id)", \#(key)}"#,
            in: installation, withoutFile: name, count: count)
        #expect(answer.status == 200, "\(answer)")
    }

    @Test("who was elected is read with the lock held, and on disk before anything else is done")
    func elected() throws {
        let installation = try Endpoint.installation(environment: ["DELIVER_LINGER_SECONDS": "0"])
        let path = "\(installation.state.path)/spool/apns/drainer.lock"
        // After an orderly end, the term goes on.
        for _ in 0...1 {
            #expect(
                try Programs.run("deliver", environment: installation.environment).exitCode == 0)
        }
        let (traced, ended) = try SystemCalls.of(
            Programs.path("deliver"),
            ["openat", "open", "flock", "pwrite64", "fdatasync", "close"],
            input: [], environment: installation.environment)
        #expect(ended.exitCode == 0, "\(ended.stderr)")
        let calls = traced.calls
        let first = try #require(calls.firstIndex { $0.text(0) == path })
        let descriptor = try #require(calls[first].result)
        let locked = try #require(
            calls[first...].firstIndex {
                $0.name == "flock" && $0.arguments.hasPrefix("\(descriptor),") && $0.result == 0
            })
        let after = calls[locked...]
        let opened = try #require(after.firstIndex { $0.text(0) == path })
        let written = try #require(
            after.firstIndex {
                $0.name == "pwrite64" && $0.arguments.hasPrefix("\(descriptor),")
            })
        #expect(opened < written)
        let next = calls[(written + 1)...].first { $0.name != "close" }
        #expect(next?.name == "fdatasync")
        #expect(next?.arguments == "\(descriptor)")
    }
}

/// What `storage-test` takes, and what it leaves.
@Suite struct StorageTestArgumentTests {
    @Test("arguments that are no state folder start nothing")
    func arguments() throws {
        let folder = TemporaryFolder()
        try folder.write("x", to: "file")
        for arguments in [
            [], ["relative"], [folder.path, folder.path, folder.path], ["\(folder.path)/missing"],
            ["\(folder.path)/file"], [folder.path, folder.path],
            [folder.path, "\(folder.path)/no"],
        ] {
            let ended = try Programs.run("storage-test", arguments, environment: [:])
            #expect(ended.exitCode == 100, "\(arguments): \(ended.stderr)")
            #expect(ended.stderr.hasPrefix("storage-test: "), "\(arguments)")
            #expect(ended.stdout == "")
        }
        #expect(Array(folder.files().keys) == ["file"])
    }

    @Test("a signal ends it, without a record and without remains")
    func signal() throws {
        let folder = TemporaryFolder()
        let program = try Programs.start("storage-test", [folder.path], entries: [])
        while try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty {}
        program.send(SIGTERM)
        let ended = try program.end()
        #expect(ended.exitCode == 111)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
    }
}

/// Whether this machine lets us mount a folder a second time.
private let canMount =
    getuid() == 0 && FileManager.default.fileExists(atPath: "/dev/fuse")
    && ["bindfs", "fuse-overlayfs"].allSatisfy {
        FileManager.default.isExecutableFile(atPath: "/usr/bin/\($0)")
    }
    && FullDiskTests.isPossible

/// A real file system that is not local: bindfs, which shows a folder elsewhere. Two of its mounts know
/// nothing of each other's locks.
@Suite(
    .enabled(
        if: canMount,
        "these tests mount a folder, which needs the superuser's rights, /dev/fuse, bindfs and fuse-overlayfs"
    ))
struct MountedStorageTests {
    /// Runs commands of a shell where their mounts concern nobody else, with a folder that is mounted at
    /// `$1/a` and `$1/b`.
    private func run(
        _ script: String, in installation: Installation,
        mount: String = #"bindfs -o fsname=test "$1/given" "$1/$place""#
    ) throws -> EndedProgram {
        let folder = installation.state.path
        let given = "\(folder)/given"
        let mounts = """
            set -e
            mkdir "$1/a" "$1/b"
            for place in a b; do \(mount); done
            """
        try FileManager.default.createDirectory(atPath: given, withIntermediateDirectories: true)
        for name in try FileManager.default.contentsOfDirectory(atPath: folder)
        where name != "given" {
            try FileManager.default.moveItem(
                atPath: "\(folder)/\(name)", toPath: "\(given)/\(name)")
        }
        let environment = installation.environment.merging(["TURNSTONE_STATE": "\(folder)/a"]) {
            $1
        }
        return try Programs.start(
            at: "/usr/bin/unshare",
            [
                "--mount", "/bin/sh", "-c", "\(mounts)\n\(script)\numount \"$1/a\" \"$1/b\"", "sh",
                folder, Programs.folder,
            ],
            entries: environment.map { "\($0.key)=\($0.value)" } + ["PATH=/usr/bin:/bin"]
        ).end()
    }

    private static let register =
        #"printf '%s' '{"method": "POST", "path": "/register", "headers": {"X-API-Key": "\#(Endpoint.key)"}, "#
        + #""body": {"user_id": "1783478", "device_token": "\#(Endpoint.token)"}}' | "$2/register""#

    private func statuses(_ ended: EndedProgram) -> [Int?] {
        ended.stdout.split(separator: "\n").filter { $0.hasPrefix("{") }
            .map { try? Answer(event: "\($0)\n").status }
    }

    @Test("with one mount, programs refuse until storage-test has passed")
    func oneMount() throws {
        let ended = try run(
            """
            \(Self.register)
            "$2/storage-test" "$1/a"
            \(Self.register)
            """, in: try Endpoint.installation())
        #expect(statuses(ended) == [503, 200], "\(ended.stdout) \(ended.stderr)")
    }

    @Test("what containers without root's rights are on needs no test, and passes it")
    func rootless() throws {
        let ended = try run(
            """
            \(Self.register)
            "$2/storage-test" "$1/a"
            """, in: try Endpoint.installation(),
            mount: """
                mkdir -p "$1/scratch/$place" "$1/lower"
                fuse-overlayfs -o "lowerdir=$1/lower,upperdir=$1/given,workdir=$1/scratch/$place" "$1/$place"
                """)
        #expect(statuses(ended) == [200], "\(ended.stdout) \(ended.stderr)")
        #expect(ended.exitCode == 0, "\(ended.stdout) \(ended.stderr)")
    }

    @Test("two mounts that do not know each other's locks are refused; one machine may go on")
    func twoMounts() throws {
        let ended = try run(
            """
            "$2/storage-test" "$1/a"
            \(Self.register)
            "$2/storage-test" "$1/a" "$1/b" || echo "exit $?"
            \(Self.register)
            """, in: try Endpoint.installation())
        #expect(statuses(ended) == [200, 200], "\(ended.stdout) \(ended.stderr)")
        #expect(ended.stdout.contains("exit 100"))
        #expect(
            ended.stdout.contains(
                "not ok a lock excludes others, and ends with its holder: two processes held it at once"
            ), "\(ended.stdout)")
    }
}

import Foundation
import JSON
import TestSupport
import Testing
import Turnstone
import Unix

// Not tried: a lack of memory, which ends any Swift program, and the calls by which the loader, the C library
// and strace start and end a process.

/// Every errno that a system call's manual page names, at each such call of the programs' fixtures.
///
/// Whatever fails, the program ends by itself with an answer, and no document is damaged. If the answer is
/// the fixture's, so are the files. The same request succeeds when it is repeated.
@Suite(.enabled(if: SystemCalls.isPossible, "strace is not installed"))
struct ErrnoTests {
    /// Errors that look like a retry or a wrong number are included: `EINTR`, `EBADF`, `EFAULT`.
    private static let documented: [String: String] = [
        "access": "EACCES EIO ELOOP ENAMETOOLONG ENOMEM EROFS EPERM",
        "faccessat": "EACCES EIO ELOOP ENAMETOOLONG ENOMEM EROFS EPERM EBADF",
        "faccessat2": "EACCES EIO ELOOP ENAMETOOLONG ENOMEM EROFS EPERM EBADF",
        "close": "EBADF EINTR EIO ENOSPC EDQUOT",
        "dup2": "EBADF EBUSY EINTR EMFILE",
        "fallocate":
            "EBADF EFBIG EINTR EINVAL EIO ENODEV ENOSPC ENOSYS EOPNOTSUPP EPERM ESPIPE ETXTBSY",
        "fcntl": "EACCES EAGAIN EBADF EINTR EINVAL EMFILE EPERM",
        "fdatasync": "EBADF EINTR EIO ENOSPC EROFS EINVAL EDQUOT",
        "flock": "EBADF EINTR EINVAL ENOLCK EAGAIN",
        "fstat": "EBADF EFAULT ENOMEM EOVERFLOW",
        "newfstatat": "EACCES EBADF EFAULT ELOOP ENAMETOOLONG ENOMEM EOVERFLOW",
        "stat": "EACCES EFAULT ELOOP ENAMETOOLONG ENOMEM EOVERFLOW",
        "fstatfs": "EBADF EFAULT EINTR EIO ENOMEM ENOSYS EOVERFLOW",
        "fsync": "EBADF EINTR EIO ENOSPC EROFS EINVAL EDQUOT",
        "ftruncate": "EBADF EFBIG EINTR EINVAL EIO EPERM EROFS ETXTBSY",
        // Not ENOENT, which says that the folder is removed: nothing is in it.
        "getdents64": "EBADF EFAULT EINVAL ENOTDIR EIO",
        "getrandom": "EAGAIN EFAULT EINTR EINVAL ENOSYS",
        // Not ENXIO, which says that no data follows.
        "lseek": "EBADF EINVAL EOVERFLOW ESPIPE",
        "memfd_create": "EFAULT EINVAL EMFILE ENFILE ENOMEM EPERM",
        "mkdir":
            "EACCES EBADF EDQUOT EFAULT EINVAL ELOOP EMLINK ENAMETOOLONG ENOMEM ENOSPC EPERM EROFS",
        "open":
            "EACCES EBUSY EDQUOT EFAULT EFBIG EINTR EINVAL EISDIR ELOOP EMFILE ENAMETOOLONG ENFILE ENODEV ENOMEM ENOSPC ENXIO EOVERFLOW EPERM EROFS ETXTBSY EAGAIN",
        "openat":
            "EACCES EBADF EBUSY EDQUOT EFAULT EFBIG EINTR EINVAL EISDIR ELOOP EMFILE ENAMETOOLONG ENFILE ENODEV ENOMEM ENOSPC ENXIO EOVERFLOW EPERM EROFS ETXTBSY EAGAIN",
        "pipe": "EFAULT EINVAL EMFILE ENFILE", "pipe2": "EFAULT EINVAL EMFILE ENFILE",
        "poll": "EFAULT EINTR EINVAL ENOMEM",
        "pread64": "EAGAIN EBADF EFAULT EINTR EINVAL EIO EISDIR ENXIO EOVERFLOW ESPIPE",
        "pwrite64": "EAGAIN EBADF EDQUOT EFAULT EFBIG EINTR EINVAL EIO ENOSPC EPERM EPIPE ESPIPE",
        "read": "EAGAIN EBADF EFAULT EINTR EINVAL EIO EISDIR",
        "readlink": "EACCES EFAULT EINVAL EIO ELOOP ENAMETOOLONG ENOENT ENOMEM ENOTDIR",
        "recvfrom": "EAGAIN EBADF ECONNREFUSED EFAULT EINTR EINVAL ENOMEM ENOTCONN ENOTSOCK",
        "rename":
            "EACCES EBUSY EDQUOT EFAULT EINVAL EISDIR ELOOP EMLINK ENAMETOOLONG ENOENT ENOMEM ENOSPC ENOTDIR ENOTEMPTY EPERM EROFS EXDEV",
        "rmdir":
            "EACCES EBUSY EFAULT EINVAL ELOOP ENAMETOOLONG ENOENT ENOMEM ENOTDIR ENOTEMPTY EPERM EROFS",
        "sendto":
            "EACCES EAGAIN EBADF ECONNRESET EDESTADDRREQ EFAULT EINTR EINVAL EMSGSIZE ENOBUFS ENOMEM ENOTCONN ENOTSOCK EOPNOTSUPP EPIPE",
        "setsockopt": "EBADF EFAULT EINVAL ENOPROTOOPT ENOTSOCK",
        "socket": "EACCES EAFNOSUPPORT EINVAL EMFILE ENFILE ENOBUFS ENOMEM EPROTONOSUPPORT",
        "statfs":
            "EACCES EFAULT EINTR EIO ELOOP ENAMETOOLONG ENOENT ENOMEM ENOSYS ENOTDIR EOVERFLOW",
        "tee": "EAGAIN EINVAL ENOMEM",
        "unlink":
            "EACCES EBUSY EFAULT EIO EISDIR ELOOP ENAMETOOLONG ENOENT ENOMEM ENOTDIR EPERM EROFS",
        "write":
            "EAGAIN EBADF EDESTADDRREQ EDQUOT EFAULT EFBIG EINTR EINVAL EIO ENOSPC EPERM EPIPE",
    ]

    private static let isLong = ProcessInfo.processInfo.environment["TURNSTONE_TORTURE"] == "long"

    /// Each program's granted fixtures that change the most files: they have the most calls that can fail.
    private static let fixtures: [FixtureName] = FixtureName.programs.flatMap { program in
        let granted = FixtureName.all.filter {
            $0.program == program && ["2", "c", "d"].contains($0.file.lastPathComponent.prefix(1))
        }
        let sizes = Dictionary(
            uniqueKeysWithValues: granted.map { name in
                let installation = try? Installation()
                let fixture = installation.flatMap { try? Fixture(name, in: $0) }
                return (name.description, fixture?.then.members.count ?? 0)
            })
        return granted.sorted { sizes[$0.description] ?? 0 > sizes[$1.description] ?? 0 }
            .prefix(isLong ? 4 : 1)
    }

    struct Injection: CustomStringConvertible {
        let call: String
        let number: Int
        let error: String

        var arguments: [String] {
            ["-e", "trace=\(call)", "-e", "inject=\(call):error=\(error):when=\(number)"]
        }

        var description: String { "\(error) at \(call) \(number)" }
    }

    @Test("whatever a system call may answer, nothing is lost and nothing breaks")
    func everyErrno() async throws {
        // A trial waits for the tracer more than for a processor.
        let threads = 4
        let fixtures = Self.fixtures
        let counts = try await atOnce(threads) { thread in
            try stride(from: thread, to: fixtures.count, by: threads)
                .map { try Self.trials(of: fixtures[$0]) }.reduce(0, +)
        }
        let tried = counts.reduce(0) { $0 + $1 }
        #expect(tried > 50)
        try report(tried)
    }

    private static func trials(of name: FixtureName) throws -> Int {
        var all = try injections(into: name)
        if !isLong, all.count > 12 {
            // Spread over the calls and, by a step that is no divisor, over their errors.
            all = (0..<12).map { all[($0 * all.count / 12 + $0 * 7) % all.count] }
        }
        for injection in all { try Trial(name, injection).run() }
        return all.count
    }

    private static func injections(into name: FixtureName) throws -> [Injection] {
        let trial = try Trial(name, nil)
        let names = documented.keys.sorted()
        let (traced, _) = try SystemCalls.of(
            Programs.path(name.program), (names + ["execve"]).map { "?\($0)" },
            input: Array(trial.fixture.request.input.utf8), environment: trial.environment)
        var seen: [String: Int] = [:]
        var injections: [Injection] = []
        // The loader's and the C library's calls come before standard streams are looked at.
        var hasBegun = false
        for call in traced.calls {
            seen[call.name, default: 0] += 1
            if call.name == "execve" { hasBegun = false }
            hasBegun = hasBegun || (call.name == "fcntl" && call.arguments.hasPrefix("0, F_GETFD"))
            guard hasBegun, let errors = documented[call.name] else { continue }
            injections += errors.split(separator: " ").map {
                Injection(call: call.name, number: seen[call.name] ?? 1, error: String($0))
            }
        }
        return injections
    }

    /// One fixture with one fault.
    private struct Trial {
        let name: FixtureName
        let injection: Injection?
        let fixture: Fixture
        let installation: Installation

        init(_ name: FixtureName, _ injection: Injection?) throws {
            self.name = name
            self.injection = injection
            var installation = try Installation()
            fixture = try Fixture(name, in: installation)
            try installation.prepare(fixture)
            self.installation = installation
        }

        var environment: [String: String] {
            installation.environment.merging(["TURNSTONE_DELIVER": "external"]) { $1 }
        }

        private var comment: Comment { "\(name): \(injection?.description ?? "")" }
        private var isScheduled: Bool { fixture.answer == nil }

        func run() throws {
            let before = installation.state.files()
            let faulty = try ended(injection?.arguments ?? [])
            // Swift's dictionaries need random numbers, and without them the C library ends the process.
            let isWithoutEntropy =
                injection?.call == "getrandom"
                && faulty.stderr.contains("Fatal glibc error: cannot get entropy for arc4random")
            #expect(
                [0, 100, 111].contains(faulty.exitCode) || isWithoutEntropy,
                "\(comment) \(faulty.stderr)")
            // If standard input cannot be read, the form of the request is unknown.
            let status =
                (try? fixture.request.answer(faulty.stdout).status)
                ?? (try? Answer(http: faulty.stdout).status)
            if !isScheduled, faulty.exitCode == 0, !isMute {
                #expect(status != nil, "\(comment): \(faulty.stdout) \(faulty.stderr)")
            }
            // If the machine fails, the answer must not blame the caller.
            if let status, !isScheduled, !isMute, !isOfNamedFile(faulty.stdout) {
                #expect(
                    (200..<300).contains(status) || status >= 500,
                    "\(comment): \(faulty.stdout) \(faulty.stderr)")
            }
            // An answer says that something could not be read, or for whom a message was not accepted.
            let said = faulty.stdout.filter { $0 != "\\" }
            let isPartial = ["unreadable", "failed", "later"].contains {
                said.contains("\"\($0)\":")
            }
            // A token whose record cannot be read is among the skipped ones.
            let isSkipping =
                said.contains("\"skipped\":") && fixture.request.input.contains("\"devices\"")
                && fixture.answer?["body"]?.object?["skipped"] == nil
            // A cancellation stays until a drainer can enter all folders and read the file.
            let isPending =
                isOfOneFile && !said.contains("\"state\":\"cancelled\"")
                && installation.state.files().keys.contains {
                    $0.contains("/cancelled/") && before[$0] == nil
                }
            if let status, fixture.answer?["status"] == .integer(Int64(status)), !isPartial,
                !isSkipping, !isPending
            {
                checkFiles(before)
            }
            checkDocuments(before)
            let again = try ended([])
            #expect(again.exitCode == fixture.exitCode || isScheduled, "\(comment) \(again.stderr)")
            if !isScheduled {
                let status = try fixture.request.answer(again.stdout).status
                #expect(status < 500, "\(comment), then: \(again.stdout) \(again.stderr)")
                if isPending { checkFiles(before, isNewTerm: true) }
            } else {
                #expect(
                    [0, fixture.exitCode].contains(again.exitCode), "\(comment) \(again.stderr)")
            }
        }

        /// Whether the fault says of a file or folder that this account, or the disk, cannot use it.
        private var isOfOneFile: Bool {
            [
                "EACCES", "EPERM", "EISDIR", "EINVAL", "ELOOP", "ENXIO", "ENODEV", "ENOTDIR",
                "EFBIG", "EOVERFLOW", "ESPIPE", "EIO",
            ]
            .contains(injection?.error)
        }

        /// Whether the fault looks like a client that has gone.
        private var isMute: Bool {
            ["EPIPE", "ECONNRESET", "ENOTCONN"].contains(injection?.error)
        }

        /// Whether the answer is about a file that the caller has named: one that cannot be used, which is a
        /// template or a time zone (some folders of that database have names like zones), or a segment that
        /// somebody else has just deleted.
        private func isOfNamedFile(_ answer: String) -> Bool {
            let isZone = ["timeZone is unknown", "timezone_id must be a known name"].contains {
                answer.contains($0)
            }
            let isGone =
                injection?.call == "unlink" && ["ENOENT", "ENOTDIR"].contains(injection?.error)
            return answer.contains("the template lunch") || isZone && injection?.error == "EISDIR"
                || isGone && answer.contains("Segment not found")
        }

        private func ended(_ arguments: [String]) throws -> EndedProgram {
            try Programs.start(
                at: SystemCalls.tracer,
                ["-f", "-qq", "-o", "/dev/null"]
                    + (arguments.isEmpty ? ["-e", "trace=none"] : arguments)
                    + ["--", Programs.path(name.program)],
                input: Array(fixture.request.input.utf8),
                entries: environment.map { "\($0.key)=\($0.value)" }
            ).end()
        }

        /// A granted request is done: each file that the fixture names exists.
        ///
        /// - Parameter isNewTerm: whether receipts may be of a later term, because an election has not ended.
        private func checkFiles(_ before: [String: [UInt8]], isNewTerm: Bool = false) {
            let after = installation.state.files()
            // A damaged file that cannot be read or renamed stays where it is.
            for expected in fixture.then.members
            where expected.value != .null && expected.name != "set-aside.jsonl"
                && !expected.name.contains(".corrupt-")
            {
                // A day of receipts that cannot be read goes on under another name. A drainer names the parts
                // of an accepted notification if the program could not.
                let isJoint = after.keys.contains { $0.hasPrefix("spool/joint/") }
                // A cancelled notification whose file cannot be read is set aside, and its receipts say so.
                let isSetAside = after.keys.contains { name in
                    name.contains("/failed/") && before[name] == nil
                        && !fixture.then.members.contains { $0.name == name }
                }
                let names = after.keys.filter {
                    Pattern.matches($0, expected.name)
                        || $0.hasPrefix("\(expected.name).unreadable-")
                        || isNewTerm && expected.name.hasPrefix("receipts/")
                            && Pattern.matches(
                                $0, expected.name.replacing(".1.jsonl", with: ".2.jsonl"))
                        || isJoint && Pattern.matches($0, "\(expected.name).new")
                }
                // A cache of the receipts.
                let isDispensable = expected.name.hasPrefix("statistics/")
                #expect(
                    !names.isEmpty || isDispensable, "\(comment): \(expected.name) is missing")
                for name in names where !name.hasPrefix("keys/") && !name.hasSuffix(".new") {
                    let value = FixtureFile(expected.name).value(after[name] ?? [])
                    if isSetAside, name.hasPrefix("receipts/") {
                        let text = String(decoding: after[name] ?? [], as: UTF8.self)
                        #expect(
                            text.contains(#""outcome":"damaged""#)
                                && !text.contains(#""outcome":"cancelled""#),
                            "\(comment): \(name)")
                        continue
                    }
                    #expect(
                        [value, withoutRevokedKeys(value, after)].contains {
                            Pattern.matches(withoutRecord($0), withoutRecord(expected.value))
                        }, "\(comment): \(name) is not as it was promised")
                }
            }
        }

        /// A user's document without its place in the player index: an index that is rebuilt while a folder
        /// cannot be listed has other places.
        private func withoutRecord(_ value: JSONValue) -> JSONValue {
            guard case .object(var document) = value else { return value }
            document["record"] = nil
            return .object(document)
        }

        /// A user's document without the keys that are revoked: a revocation is done although the list cannot be
        /// written, and a list may have such keys.
        private func withoutRevokedKeys(
            _ value: JSONValue, _ files: [String: [UInt8]]
        ) -> JSONValue {
            guard case .object(var document) = value, let keys = document["keys"]?.texts else {
                return value
            }
            let working = keys.filter { key in
                let bytes = files["keys/\(key.prefix(2))/\(key).json"]
                let record = bytes.flatMap { try? JSON.parse($0).object }
                return record?["revoked_at"] == nil
            }
            document["keys"] = JSONValue(texts: working)
            return .object(document)
        }

        private func checkDocuments(_ before: [String: [UInt8]]) {
            for (name, bytes) in installation.state.files() where before[name] != bytes {
                let isExpected = fixture.then.members.contains { Pattern.matches(name, $0.name) }
                #expect(isExpected || !name.contains(".corrupt-"), "\(comment): \(name)")
                guard name.hasSuffix(".json") else { continue }
                #expect((try? JSON.parse(bytes)) != nil, "\(comment): \(name) is damaged")
            }
        }
    }

    /// Adds a row to the table of `infra/torture`.
    private func report(_ tried: Int) throws {
        guard let path = ProcessInfo.processInfo.environment["TURNSTONE_TORTURE_ROWS"] else {
            return
        }
        let row: JSONObject = [
            "test": "everyErrno",
            "fault": "every errno that a system call's manual names, in every program's fixtures",
            "tried": .integer(Int64(tried)), "pushes": 0, "lost": 0, "repeated": 0,
            "repeated_for_nothing": 0,
        ]
        try FileDescriptor.open(path, .append).write(
            JSON.text(.object(row)) + [UInt8(ascii: "\n")])
    }
}

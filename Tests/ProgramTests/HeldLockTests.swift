import Foundation
import JSON
import TestSupport
import Testing
import Unix

/// Locks are held until the work that they guard is done, in the programs as they are shipped: the optimizer
/// decides when a descriptor is closed. The endpoints are tried as Embedded Swift and, if `infra/build` has
/// left them, as ordinary Swift.
@Suite struct HeldLockTests {
    /// A program's file in each of its builds.
    private static func builds(of program: String) -> [String] {
        let ordinary = "\(Programs.folder)/../ordinary/release/\(program)"
        return [Programs.path(program)]
            + (FileManager.default.isExecutableFile(atPath: ordinary) ? [ordinary] : [])
    }

    private static let calls = [
        "open", "openat", "close", "flock", "rename", "renameat", "renameat2",
    ]

    /// Two of each program's fixtures that are granted, and a few on a folder in which nothing is yet.
    private static let granted: [FixtureName] = FixtureName.programs.flatMap { program in
        FixtureName.all.filter {
            $0.program == program && $0.file.lastPathComponent.first == "2"
        }.prefix(2)
    }

    @Test(
        "a document is replaced while its lock is held, and each lock is let go before its descriptor",
        .enabled(if: SystemCalls.isPossible, "strace is not installed"), arguments: granted)
    func order(name: FixtureName) throws {
        for isFresh in [false, true] {
            for build in Self.builds(of: name.program) {
                var installation = try Installation()
                let fixture = try Fixture(name, in: installation)
                try installation.prepare(fixture)
                if isFresh { Files.remove("\(installation.state.path)/version.json") }
                let (traced, _) = try SystemCalls.of(
                    build, Self.calls, input: Array(fixture.request.input.utf8),
                    environment: installation.environment.merging([
                        "TURNSTONE_DELIVER": "external"
                    ]) { $1 })
                #expect(!traced.calls.isEmpty)
                check(traced, in: installation.state.path)
            }
        }
    }

    private func check(_ traced: SystemCalls, in state: String) {
        var open: [Int: String] = [:]
        var locked: Set<Int> = []
        for call in traced.calls {
            let descriptor = Int(call.arguments.prefix { $0.isNumber }) ?? -1
            switch call.name {
            case "open", "openat":
                if let result = call.result, result >= 0 { open[result] = call.text(0) }
            case "close":
                #expect(
                    !locked.contains(descriptor),
                    "\(open[descriptor] ?? "?") is closed with the lock held")
                locked.remove(descriptor)
                open[descriptor] = nil
            case "flock" where call.arguments.contains("LOCK_UN"): locked.remove(descriptor)
            case "flock":
                if call.result == 0, call.arguments.contains("LOCK_EX") {
                    locked.insert(descriptor)
                }
            default:
                guard let path = call.text(1), Self.hasLock(path, in: state) else { continue }
                let lock =
                    Self.sharesLock(path, in: state) ? SharedLock.path(of: path) : path + ".lock"
                #expect(
                    locked.contains { open[$0] == lock }, "\(path) is replaced without \(lock)")
            }
        }
    }

    /// Whether it is a document, or the index, with a lock of its own or of its shelf's. A message's record
    /// has another one.
    private static func hasLock(_ path: String, in state: String) -> Bool {
        (path.hasSuffix(".json") || path.hasSuffix("players.index"))
            && !path.hasPrefix("\(state)/messages/") && !path.hasPrefix("\(state)/outgoing/")
    }

    /// Whether it is a document of a shelf whose documents share lock files.
    private static func sharesLock(_ path: String, in state: String) -> Bool {
        let shelf = path.dropFirst(state.count + 1).split(separator: "/").first
        return [
            "users", "tokens", "aliases", "keys", "activities", "sessions", "channels", "looks",
        ].contains(shelf)
    }

    /// A program that is stopped inside of the work that a lock guards.
    struct Stop: CustomTestStringConvertible, Sendable {
        let program: String
        let body: String
        let header: String
        /// Files that the state folder does not have yet.
        var missing: String?
        /// Before which `rename` it is stopped.
        let rename: Int
        /// The lock file, or the beginning of its name.
        let lock: String
        var testDescription: String { "\(program) \(lock)" }
    }

    private static let registration =
        #"{"method": "POST", "path": "/register", "headers": {"X-API-Key": "\#(Endpoint.key)"}, "#
        + #""body": {"user_id": "1783478", "device_token": "\#(Endpoint.token)"}}"#

    private static let message =
        #"{"method": "POST", "path": "/api/notify", "headers": {"Authorization": "Key \#(Endpoint.serverKey)"}, "#
        + #""body": {"users": ["1783478"], "title": "x", "idempotency_key": "k"}}"#

    @Test(
        "another process does not get the lock while the work that it guards goes on",
        .enabled(if: SystemCalls.isPossible, "strace is not installed"),
        arguments: [
            Stop(
                program: "register", body: registration, header: "", missing: "version.json",
                rename: 1, lock: "version.json.lock"),
            Stop(
                program: "check-turns", body: "{}", header: "", rename: 1,
                lock: "players.index.lock"),
            Stop(program: "notify", body: message, header: "", rename: 1, lock: "messages/"),
        ])
    func exclusion(stop: Stop) throws {
        for build in Self.builds(of: stop.program) {
            let installation = try Endpoint.installation()
            let folder = TemporaryFolder()
            if let missing = stop.missing { Files.remove("\(installation.state.path)/\(missing)") }
            let calls = "rename,renameat,renameat2"
            let program = try Programs.start(
                at: SystemCalls.tracer,
                [
                    "-f", "-qq", "-o", "\(folder.path)/calls", "-e", "trace=\(calls)", "-e",
                    "inject=\(calls):signal=STOP:when=\(stop.rename)", "--", build,
                ], input: Array(stop.body.utf8),
                entries: installation.environment.map { "\($0.key)=\($0.value)" })
            let stopped = try stoppedProcess(by: folder)
            defer { kill(stopped, SIGCONT) }
            let locks = installation.state.files().keys.filter {
                $0.hasPrefix(stop.lock) && $0.hasSuffix(".lock")
            }
            #expect(!locks.isEmpty, "\(build)")
            for lock in locks {
                let file = try FileDescriptor.open("\(installation.state.path)/\(lock)", .update)
                #expect(try !file.tryLock(), "\(build): \(lock) is free")
                file.unlock()
            }
            kill(stopped, SIGCONT)
            let ended = try program.end()
            #expect(ended.exitCode == 0, "\(ended.stderr)")
        }
    }

    /// The process that strace has stopped by a signal, once it says so.
    private func stoppedProcess(by trace: TemporaryFolder) throws -> pid_t {
        for _ in 0..<3000 {
            let text = String(decoding: trace.read("calls") ?? [], as: UTF8.self)
            for line in text.split(separator: "\n") where line.contains("stopped by SIGSTOP") {
                if let process = pid_t(line.prefix { $0.isNumber }) { return process }
            }
            usleep(10_000)
        }
        throw TestFailure("the program was not stopped")
    }
}

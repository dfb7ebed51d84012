import Foundation
import JSON
import TestSupport
import Testing
import Turnstone
import Unix

/// Programs that are killed while they change numbers in lock files, at each of their steps.
@Suite(.enabled(if: SystemCalls.isPossible, "strace is not installed"))
struct KilledLockTests {
    private static let user = "users/eb/1783478.json"

    private func event(
        _ method: String, _ path: String, _ headers: JSONValue, _ body: JSONValue
    ) -> [UInt8] {
        JSON.text([
            "method": .string(method), "path": .string(path), "headers": headers, "body": body,
        ])
    }

    private var registration: [UInt8] {
        event(
            "POST", "/register", ["X-API-Key": .string(Endpoint.key)],
            ["user_id": "1783478", "device_token": .string(Endpoint.token)])
    }

    private var erasure: [UInt8] {
        event(
            "DELETE", "/api/users/1783478",
            ["Authorization": .string("Key \(Endpoint.serverKey)")], .null)
    }

    /// Runs a program, and kills it before the `number`th system call of this name.
    ///
    /// - Returns: whether it made fewer, and was not killed.
    private func run(
        _ program: String, _ input: [UInt8], in installation: Installation,
        killedBefore call: String, _ number: Int
    ) throws -> Bool {
        let ended = try Programs.start(
            at: SystemCalls.tracer,
            [
                "-qq", "-o", "/dev/null", "-e", "trace=\(call)", "-e",
                "inject=\(call):signal=KILL:when=\(number)", "--", Programs.path(program),
            ], input: input, entries: installation.environment.map { "\($0.key)=\($0.value)" }
        ).end()
        return ended.stdout.contains(#""statusCode":200"#)
    }

    private func exists(_ name: String, in installation: Installation) -> Bool {
        installation.state.read(name) != nil
    }

    @Test("an erasure that was killed is finished by the next one, each number before its document")
    func erased() throws {
        var numbersAlone = 0
        var kills: [String: Int] = [:]
        for call in ["fdatasync", "unlink"] {
            for number in 1...200 {
                guard let isAlone = try eraseTwice(killedBefore: call, number) else { break }
                kills[call, default: 0] += 1
                if isAlone { numbersAlone += 1 }
            }
        }
        #expect(numbersAlone > 0 && kills.count == 2, "\(kills)")
    }

    /// Erases a user, and again after the first program was killed.
    ///
    /// - Returns: whether the number was removed before the kill and the document was not; `nil` if there was
    ///   no kill.
    private func eraseTwice(killedBefore call: String, _ number: Int) throws -> Bool? {
        let installation = try Endpoint.installation()
        let state = installation.state
        let registered = try Programs.run(
            "register", stdin: String(decoding: registration, as: UTF8.self),
            environment: installation.environment)
        #expect(registered.stdout.contains(#""statusCode":200"#), "\(registered.stderr)")
        let isOver = try run(
            "users", erasure, in: installation, killedBefore: call, number)
        if isOver { return nil }
        let isNumberAlone =
            exists(Self.user, in: installation)
            && SharedLock.revision(of: Self.user, in: state) == nil
        let (traced, ended) = try SystemCalls.of(
            Programs.path("users"),
            ["open", "openat", "close", "fdatasync", "unlink", "unlinkat"], input: erasure,
            environment: installation.environment)
        #expect(
            ended.stdout.contains(#""statusCode":200"#)
                || ended.stdout.contains(#""statusCode":404"#), "\(ended.stdout)")
        #expect(!exists(Self.user, in: installation))
        #expect(SharedLock.revision(of: Self.user, in: state) == nil)
        if isNumberAlone {
            #expect(isSynchronized(traced, in: state.path), "before \(call) \(number)")
        }
        return isNumberAlone
    }

    /// Whether the lock file was synchronized before the document was removed.
    private func isSynchronized(_ traced: SystemCalls, in state: String) -> Bool {
        let document = "\(state)/\(Self.user)"
        var open: [Int: String] = [:]
        var isSynchronized = false
        for call in traced.calls {
            let descriptor = Int(call.arguments.prefix { $0.isNumber }) ?? -1
            switch call.name {
            case "open", "openat":
                if let result = call.result, result >= 0 { open[result] = call.text(0) }
            case "close": open[descriptor] = nil
            case "fdatasync":
                if open[descriptor] == SharedLock.path(of: document) { isSynchronized = true }
            default: if call.text(0) == document { return isSynchronized }
            }
        }
        return false
    }

    @Test("a migration from version 2 that was killed is done by the next program")
    func migrated() throws {
        for call in ["rename", "unlink", "rmdir"] {
            var kills = 0
            while try migrate(killedBefore: call, kills + 1) { kills += 1 }
            #expect(kills > 0, "\(call)")
        }
    }

    /// Starts a program on a folder of version 2, and again if the first one was killed.
    ///
    /// - Returns: whether it was.
    private func migrate(killedBefore call: String, _ number: Int) throws -> Bool {
        let installation = try Endpoint.installation()
        let state = installation.state
        // The lines are of a version 3 that an operator has gone back from.
        try SharedLock.remember(9, of: Self.user, in: state)
        try state.write(#"{"version":2}"#, to: "version.json")
        try state.write(#"{"version":1,"revision":3,"notices":7}"#, to: Self.user)
        try state.write("", to: "\(Self.user).lock")
        let lock = try FileDescriptor.open("\(state.path)/\(Self.user).lock", .update)
        let own = try lock.identity()
        let words = [3, own.inode, own.birth].map { String(format: "%020ld", $0) }
        try lock.write(Array(words.joined(separator: " ").utf8), at: 0)
        let isOver = try run(
            "register", registration, in: installation, killedBefore: call, number)
        if !isOver {
            let ended = try Programs.run(
                "register", stdin: String(decoding: registration, as: UTF8.self),
                environment: installation.environment)
            #expect(ended.stdout.contains(#""statusCode":200"#), "\(ended.stderr)")
        }
        let version = try state.read("version.json").flatMap { try JSON.parse($0).object }
        #expect(version?["version"] == 3 && version?["own_locks"] == "held")
        #expect(SharedLock.revision(of: Self.user, in: state) == nil)
        let user = try state.read(Self.user).flatMap { try JSON.parse($0).object }
        #expect(user?["notices"] == 7 && user?["devices"]?.array?.count == 1)
        return !isOver
    }
}

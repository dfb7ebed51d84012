import Foundation
import JSON
import TestSupport
import Turnstone

/// A fault in a program's system calls, injected by strace.
struct Fault: CustomStringConvertible {
    /// One call of a program: the `number`th of its name, from 1.
    struct Call: CustomStringConvertible {
        let name: String
        let number: Int

        var description: String { "\(name) \(number)" }

        /// Whether it may change a file or the names in a folder.
        var isWriting: Bool {
            [
                "creat", "fallocate", "fdatasync", "fsync", "ftruncate", "link", "linkat", "mkdir",
                "mkdirat", "open", "openat", "pwrite64", "pwritev", "rename", "renameat",
                "renameat2", "rmdir", "unlink", "unlinkat", "write", "writev",
            ].contains(name)
        }
    }

    static let tracer = "/usr/bin/strace"
    static let isPossible = FileManager.default.isExecutableFile(atPath: tracer)

    let arguments: [String]
    let description: String

    /// Ends the program by `SIGKILL` before a call; the call is not made.
    static func kill(before call: Call) -> Fault {
        Fault(call, "signal=KILL", "")
    }

    /// Lets a call, or with `onward` each of its name from there on, fail without being made.
    static func failure(of call: Call, with error: String, onward: Bool = false) -> Fault {
        Fault(call, "error=\(error)", onward ? "+" : "", ["--seccomp-bpf"])
    }

    /// - Parameter faster: an option that lets strace look at no other calls. It cannot be used to send a
    ///   signal.
    private init(_ call: Call, _ effect: String, _ range: String, _ faster: [String] = []) {
        arguments =
            faster + [
                "-f", "-qq", "-o", "/dev/null", "-e", "trace=\(call.name)", "-e",
                "inject=\(call.name):\(effect):when=\(call.number)\(range)", "--",
            ]
        description = "\(effect) at \(call)\(range)"
    }

    private init(recordingTo path: String) {
        arguments = ["-f", "-qq", "-o", path, "--"]
        description = "recorded"
    }

    /// The system calls of a program that nothing hinders, in their order.
    static func calls(
        of program: String, _ event: JSONValue? = nil, in trial: Trial
    ) throws -> [Call] {
        let folder = TemporaryFolder()
        let fault = Fault(recordingTo: "\(folder.path)/calls")
        let ended = try trial.start(program, event, fault: fault).end()
        guard ended.exitCode == 0 else { throw TestFailure("\(program): \(ended.stderr)") }
        let text = String(decoding: folder.read("calls") ?? [], as: UTF8.self)
        var seen: [String: Int] = [:]
        var calls: [Call] = []
        for line in text.split(separator: "\n") {
            // "1234 openat(AT_FDCWD, …", and not "1234 <... poll resumed>".
            let thread = line.prefix { $0 != " " }
            let call = line.dropFirst(thread.count).drop { $0 == " " }
            guard let end = call.firstIndex(of: "("), call.first?.isLetter == true else { continue }
            // strace counts for each thread; the first one to come so far is struck.
            let name = String(call[..<end])
            seen["\(thread) \(name)", default: 0] += 1
            calls.append(Call(name: name, number: seen["\(thread) \(name)"] ?? 1))
        }
        guard !calls.isEmpty else { throw TestFailure("strace has recorded nothing") }
        return calls
    }
}

import Foundation

/// A program's system calls, as strace saw them.
package struct SystemCalls {
    package static let tracer = "/usr/bin/strace"
    package static let isPossible = FileManager.default.isExecutableFile(atPath: tracer)

    /// One call that has returned: its name, the text between the brackets, and its result.
    package struct Call {
        package let name: String
        package let arguments: String
        package let result: Int?

        /// The text between the `number`th pair of quotes, from 0.
        package func text(_ number: Int) -> String? {
            let parts = arguments.split(separator: "\"", omittingEmptySubsequences: false)
            return parts.indices.contains(number * 2 + 1) ? String(parts[number * 2 + 1]) : nil
        }
    }

    package let calls: [Call]

    /// Runs a program, in one thread, and writes down its calls of these names, or all of them.
    ///
    /// - Parameter options: more for strace, such as `["-e", "inject=fsync:error=EIO"]`.
    package static func of(
        _ program: String, _ names: [String] = ["all"], input: [UInt8],
        environment: [String: String], options: [String] = []
    ) throws -> (calls: SystemCalls, ended: EndedProgram) {
        let folder = TemporaryFolder()
        let ended = try Programs.start(
            at: tracer,
            [
                "-qq", "-s", "4096", "-e", "trace=\(names.joined(separator: ","))", "-e",
                "signal=none", "-o", "\(folder.path)/calls",
            ] + options + ["--", program], input: input,
            entries: environment.map { "\($0.key)=\($0.value)" }
        ).end()
        let text = String(decoding: folder.read("calls") ?? [], as: UTF8.self)
        return (
            SystemCalls(calls: text.split(separator: "\n").compactMap { call(String($0)) }), ended
        )
    }

    private static func call(_ line: String) -> Call? {
        // "rename("a", "b")   = -1 ENOENT (No such file or directory)"
        guard let start = line.firstIndex(of: "("),
            let equals = line.range(of: " = ", options: .backwards),
            let end = line[..<equals.lowerBound].lastIndex(of: ")"), start < end
        else { return nil }
        return Call(
            name: String(line[..<start]),
            arguments: String(line[line.index(after: start)..<end]),
            result: Int(line[equals.upperBound...].prefix { !$0.isWhitespace }))
    }
}

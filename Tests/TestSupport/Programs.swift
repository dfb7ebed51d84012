import Foundation

/// The built programs, started as a host starts them.
package enum Programs {
    /// The folder with the programs to test: `TURNSTONE_BIN`, or else where the tests were built.
    package static let folder: String =
        ProcessInfo.processInfo.environment["TURNSTONE_BIN"]
        ?? URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        .deletingLastPathComponent().path

    package static func path(_ name: String) -> String { "\(folder)/\(name)" }

    /// The command that runs programs, such as valgrind and its options: `TURNSTONE_WRAP`, split at blanks.
    private static let wrap =
        ProcessInfo.processInfo.environment["TURNSTONE_WRAP"]?.split(separator: " ").map(
            String.init)
        ?? []

    /// Runs a program to its end, with its standard input given at once and then closed.
    ///
    /// - Parameters:
    ///   - environment: the program's whole environment.
    ///   - timeLimit: seconds after which it is killed and the test fails.
    package static func run(
        _ name: String, _ arguments: [String] = [], stdin: String = "",
        environment: [String: String], timeLimit: Double = 240
    ) throws -> EndedProgram {
        let entries = environment.map { "\($0.key)=\($0.value)" }.sorted()
        return try start(name, arguments, input: Array(stdin.utf8), entries: entries)
            .end(timeLimit: timeLimit)
    }

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - inputStaysOpen: whether standard input says nothing more instead of ending.
    ///   - entries: the environment's entries as `NAME=value`; a name may come twice, as a host may
    ///     pass it.
    package static func start(
        _ name: String, _ arguments: [String] = [], input: [UInt8] = [],
        inputStaysOpen: Bool = false, entries: [String]
    ) throws -> RunningProgram {
        let words = wrap + [path(name)] + arguments
        return try start(
            at: words[0], Array(words.dropFirst()), input: input, inputStaysOpen: inputStaysOpen,
            entries: entries)
    }

    /// Starts a program that is not ours, such as one that starts ours.
    package static func start(
        at path: String, _ arguments: [String] = [], input: [UInt8] = [],
        inputStaysOpen: Bool = false, entries: [String]
    ) throws -> RunningProgram {
        try RunningProgram(
            path, arguments, input: input, inputStaysOpen: inputStaysOpen, entries: entries)
    }
}

/// A program's exit code and output.
package struct EndedProgram: Sendable {
    /// The exit code, or minus the signal that ended it.
    package let exitCode: Int32
    package let output: [UInt8]
    package let errorOutput: [UInt8]

    package var stdout: String { String(decoding: output, as: UTF8.self) }
    package var stderr: String { String(decoding: errorOutput, as: UTF8.self) }
}

/// A test could not go on for a reason that is not the tested program's.
package struct TestFailure: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}

import Foundation
import Glibc

/// The results that a script under `infra/checks` printed.
package struct CheckScript {
    /// Why nothing could be tried: `skipped: …`.
    package let skipped: String?
    /// Claims that do not hold: `not ok …`.
    package let failures: [String]
    /// Whether it came to its end: `ok everything was tried`.
    package let isComplete: Bool
    package let output: String

    /// Runs a script to its end, or takes the report of one that `infra/test` has run before the tests. Each starts
    /// servers, and some a browser, so only two run at the same time.
    ///
    /// - Parameter input: the script's standard input.
    package init(
        running name: String, _ arguments: [String] = [], input: String = ""
    ) async throws {
        let report = ([name] + arguments).joined(separator: " ")
        if let folder = ProcessInfo.processInfo.environment["TURNSTONE_REPORTS"],
            let report = FileManager.default.contents(atPath: "\(folder)/\(report)")
        {
            self.init(output: String(decoding: report, as: UTF8.self))
            return
        }
        self = try await withCheckedThrowingContinuation { done in
            scripts.addOperation {
                done.resume(
                    with: Result { try CheckScript(waitingFor: name, arguments, input: input) })
            }
        }
    }

    private init(waitingFor name: String, _ arguments: [String], input: String) throws {
        let folder = TemporaryFolder()
        try folder.write(input, to: "input")
        let check = Process()
        check.executableURL =
            URL(fileURLWithPath: "\(#filePath)/../../../infra/checks/\(name)").standardizedFileURL
        check.arguments = arguments
        let pipe = Pipe()
        check.standardInput = FileHandle(forReadingAtPath: "\(folder.path)/input")
        check.standardOutput = pipe
        // The threads of tests block all signals, and a script that inherits this cannot be asked to end.
        var none = sigset_t()
        var before = sigset_t()
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        try check.run()
        let output = String(
            decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        check.waitUntilExit()
        self.init(output: output)
    }

    private init(output: String) {
        self.output = output
        let lines = output.split(separator: "\n").map(String.init)
        skipped = lines.first { $0.hasPrefix("skipped: ") }
        failures = lines.filter { $0.hasPrefix("not ok ") }
        isComplete = lines.contains("ok everything was tried")
    }
}

/// Not the few threads that all tests share: the scripts wait for most of their time.
private let scripts = {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 2
    return queue
}()

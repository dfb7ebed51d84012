import Foundation
import TestSupport

/// A running `bootstrap` with a Runtime API of its own.
final class LambdaFunction {
    let api: RuntimeAPI
    private let bootstrap: RunningProgram
    /// What is written to a stream that nobody reads would hold the programs up in the end.
    private let logs = TemporaryFolder()

    /// - Parameters:
    ///   - handler: the program that answers its events.
    ///   - folder: holds `bootstrap` and the handler.
    ///   - isLogKept: whether ``end()`` has the log; one that nobody reads in time holds the programs up.
    init(
        _ handler: String, in folder: String = Programs.folder,
        manner: RuntimeAPI.Manner = .ordinary,
        isLogKept: Bool = true, environment: [String: String] = [:]
    ) throws {
        api = try RuntimeAPI(manner)
        var environment = environment
        environment["AWS_LAMBDA_RUNTIME_API"] = api.address
        environment["_HANDLER"] = handler
        bootstrap = try Programs.start(
            at: "/bin/sh", ["-c", #"exec "$0" 2>"$1""#, "\(folder)/bootstrap", "\(logs.path)/log"],
            entries: environment.map { "\($0.key)=\($0.value)" })
    }

    /// What it and its handlers have written to standard error.
    var log: String { String(decoding: logs.read("log") ?? [], as: UTF8.self) }

    deinit { api.stop() }

    /// Lets it meet the end of its Runtime API, and end.
    func end() throws {
        api.stop()
        _ = try exitCode()
    }

    /// Waits until it ends by itself.
    func exitCode() throws -> Int32 { try bootstrap.end(timeLimit: 20).exitCode }
}

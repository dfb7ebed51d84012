import Foundation
import TestSupport

/// A running `bootstrap` with a Runtime API of its own.
final class LambdaFunction {
    let api: RuntimeAPI
    private let bootstrap: RunningProgram
    /// Its log: a pipe that nobody reads would fill up and block the programs.
    private let logs = TemporaryFolder()

    /// - Parameters:
    ///   - handler: the program that answers its events.
    ///   - folder: holds `bootstrap` and the handler.
    init(
        _ handler: String, in folder: String = Programs.folder,
        manner: RuntimeAPI.Manner = .ordinary,
        environment: [String: String] = [:]
    ) throws {
        api = try RuntimeAPI(manner)
        var environment = environment
        environment["AWS_LAMBDA_RUNTIME_API"] = api.address
        environment["_HANDLER"] = handler
        bootstrap = try Programs.start(
            at: "/bin/sh", ["-c", #"exec "$0" 2>"$1""#, "\(folder)/bootstrap", "\(logs.path)/log"],
            entries: environment.map { "\($0.key)=\($0.value)" })
    }

    /// The standard error of it and its handlers.
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

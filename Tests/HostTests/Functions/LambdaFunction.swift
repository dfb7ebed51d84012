import Foundation
import TestSupport

/// A running `bootstrap` with a Runtime API of its own.
final class LambdaFunction {
    let api: RuntimeAPI
    private let bootstrap: RunningProgram

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
            at: "\(folder)/bootstrap", entries: environment.map { "\($0.key)=\($0.value)" })
    }

    deinit { api.stop() }

    /// Lets it meet the end of its Runtime API, and end.
    func end() throws -> EndedProgram {
        api.stop()
        return try bootstrap.end(timeLimit: 20)
    }

    /// Waits until it ends by itself.
    func ended() throws -> EndedProgram { try bootstrap.end(timeLimit: 20) }
}

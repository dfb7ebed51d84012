import Foundation
import JSON
import TestSupport
import Turnstone

/// A runner of functions, as far as a program can see it.
enum FunctionRunner: String, CaseIterable {
    /// AWS Lambda behind a function URL or API Gateway, with `bootstrap`.
    case lambda
    /// OpenFaaS' classic watchdog, and of-watchdog where it starts a process for each request.
    case watchdog
    /// OpenWhisk's docker skeleton, for a raw web action.
    case openWhisk
    /// Whatever hands over CloudEvents.
    case cloudEvents

    /// A schedule's tick.
    var tick: String {
        switch self {
        case .lambda:
            #"{"version":"0","id":"1","detail-type":"Scheduled Event","source":"aws.events","detail":{}}"#
        case .watchdog: ""
        case .openWhisk: "{}"
        case .cloudEvents:
            #"{"specversion":"1.0","id":"1","source":"/timer","type":"org.example.tick"}"#
        }
    }
}

/// One program behind a runner, with a configuration file and a state folder.
final class FunctionSite: FixtureSite {
    let runner: FunctionRunner
    let folder = TemporaryFolder()
    var state = TemporaryFolder()
    private let program: String
    private var function: LambdaFunction?

    init(_ runner: FunctionRunner, program: String = "front") throws {
        self.runner = runner
        self.program = program
        try install()
        if runner == .lambda { function = try LambdaFunction(program, environment: environment) }
    }

    /// The complaints of the runner's Runtime API.
    var faults: [String] { function?.api.faults ?? [] }

    /// Sends a request.
    ///
    /// - Returns: `nil` where the runner refuses it by itself.
    func answer(_ request: HostRequest) throws -> Answer? {
        switch runner {
        case .lambda: try Answer(event: output(of: JSON.text(request.apiGatewayEvent)) + "\n")
        case .watchdog: try watchdogAnswer(request)
        case .openWhisk: try Answer(event: output(of: JSON.text(request.openWhiskEvent)) + "\n")
        case .cloudEvents: try Answer(event: output(of: JSON.text(request.cloudEvent)) + "\n")
        }
    }

    /// Lets a schedule start the program, and returns its answer.
    func tick() throws -> JSONValue {
        let input = Array(runner.tick.utf8)
        guard runner == .watchdog else { return try JSON.parse(Array(output(of: input).utf8)) }
        let request = HostRequest(
            method: "POST", target: "/", headers: [("X-Topic", "cron-function")], body: input)
        let ended = try run(input, request.watchdogVariables ?? [])
        return try JSON.parse(Array(ended.stdout.utf8))
    }

    /// The program's answer to an event: its last line.
    private func output(of event: [UInt8]) throws -> String {
        if let function {
            switch try function.api.invoke(event) {
            case .answer(let bytes): return String(decoding: bytes, as: UTF8.self)
            case .error(let type, let message): throw TestFailure("\(type): \(message)")
            }
        }
        // OpenWhisk's skeleton gives an event as the argument, too.
        let text = String(decoding: event, as: UTF8.self)
        let arguments = runner == .openWhisk && event.count < 131_072 ? [text] : []
        let ended = try run(event, ["__OW_ACTION_NAME=/guest/turnstone"], arguments)
        return ended.stdout.split(separator: "\n").last.map { String($0) } ?? ""
    }

    private func watchdogAnswer(_ request: HostRequest) throws -> Answer? {
        guard let variables = request.watchdogVariables else { return nil }
        return try Answer(event: run(request.body, variables).stdout)
    }

    private func run(
        _ input: [UInt8], _ variables: [String], _ arguments: [String] = []
    ) throws -> EndedProgram {
        let entries = environment.map { "\($0.key)=\($0.value)" } + variables
        let ended = try Programs.start(program, arguments, input: input, entries: entries).end()
        guard ended.exitCode == 0 else {
            throw TestFailure("\(program) ends with \(ended.exitCode): \(ended.stderr)")
        }
        return ended
    }

    private var environment: [String: String] { ["TURNSTONE_CONFIG": configurationPath] }
}

import TestSupport
import Testing
import Turnstone

/// A request that must be refused, and how its front answers.
struct Attempt: Sendable {
    enum Front: Sendable { case cgi, event, http, watchdog }

    let endpoint: Endpoint
    let front: Front
    var input: [UInt8] = []
    /// Entries of the environment beside the installation's.
    var entries: [String] = []
    var arguments: [String] = []

    /// Makes the attempt and checks the rules for every refusal: the request's form, the status, one
    /// sentence, exit code 0, one line of log, no secret in either, and no file changed.
    func expect(_ status: Int, in installation: Installation? = nil) throws {
        let installation = try installation ?? Endpoint.installation()
        let before = installation.state.files()
        let ended = try start(in: installation).end()
        try check(ended, status)
        #expect(installation.state.files() == before, "a refused request has left something behind")
    }

    func start(
        in installation: Installation, inputStaysOpen: Bool = false
    ) throws -> RunningProgram {
        let environment = installation.environment.map { "\($0.key)=\($0.value)" }
        return try Programs.start(
            endpoint.isBehindFront ? "front" : endpoint.program, arguments, input: input,
            inputStaysOpen: inputStaysOpen, entries: environment + entries)
    }

    func check(_ ended: EndedProgram, _ status: Int) throws {
        #expect(ended.exitCode == 0)
        let answer =
            switch front {
            case .event, .watchdog: try Answer(event: ended.stdout)
            case .cgi: try Answer(cgi: ended.stdout)
            case .http: try Answer(http: ended.stdout)
            }
        #expect(answer.status == status, "\(answer.body)")
        let body = answer.json?.object
        // `health` does not show the faults to everybody: the log does.
        let ownSentence =
            endpoint.program == "health" && status == 503
            ? body?["status"]?.string : body?["error"]?.string
        let sentence = ownSentence ?? body?["errors"]?.array?.first?.string ?? ""
        #expect(!sentence.isEmpty && sentence.utf8.allSatisfy { $0 >= 32 }, "\(answer.body)")
        let speakers = endpoint.isBehindFront ? ["front", endpoint.program] : [endpoint.program]
        #expect(speakers.contains { ended.stderr.hasPrefix("\($0): ") }, "\(ended.stderr)")
        #expect(ended.stderr.utf8.dropLast().allSatisfy { $0 >= 32 }, "\(ended.stderr)")
        for secret in Endpoint.secrets {
            #expect(!ended.stderr.contains(secret) && !ended.stdout.contains(secret))
        }
    }
}

/// A row of a table: a request, and the status of its answer.
struct Bad: CustomTestStringConvertible, Sendable {
    let name: String
    let text: String
    let status: Int
    var testDescription: String { name }

    init(_ name: String, _ text: String, _ status: Int = 400) {
        self.name = name
        self.text = text
        self.status = status
    }
}

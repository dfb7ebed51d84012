import Foundation
import JSON
import TestSupport
import Turnstone

/// One example of a program at work: `functions/NAME/fixtures/*.json`.
///
/// | member | meaning |
/// |---|---|
/// | `given` | files of the state folder before: a JSON value, an array of one for each line in a `.jsonl` file, or a text as it stands. `version.json` is there unless it is `null` here |
/// | `config` | the configuration file's text; it is empty otherwise |
/// | `environment` | variables beside `TURNSTONE_STATE`, `TURNSTONE_CONFIG` and `TURNSTONE_NOW` (2026-11-21T12:00:00Z), which it may set as well |
/// | `arguments` | what follows the program's name on the command line |
/// | `event`, or `stdin`, or `cgi`, or `watchdog` | the request: a JSON event, raw text, or `{"environment", "body"}` |
/// | `answer` | `status`, `body` and some `headers` of the answer |
/// | `output` | in place of `answer`: what a scheduled program prints; zeros in it must not be printed, nor `{}` to a timer |
/// | `lines` | in place of `answer`: what it prints, where that is several lines |
/// | `exit` | the exit code, 0 if it is left out |
/// | `stderr` | all of the log. Left out: nothing after a status below 400, else one line that begins with the program's name |
/// | `then` | files that must be there afterwards, with this content; `null` for one that must be gone |
///
/// `{STATE}` and `{CONFIG}` stand for the paths of the state folder and of the configuration file. `…` stands
/// for any text, and alone for any value; in `then` a file's name may have one too.
struct Fixture {
    let program: String
    let given: JSONObject
    let config: String
    let variables: [String: String]
    let arguments: [String]
    let request: FixtureRequest
    let answer: JSONObject?
    let output: [JSONValue]
    let exitCode: Int32
    let log: String?
    let then: JSONObject

    init(_ name: FixtureName, in installation: Installation) throws {
        let text = try Array(
            installation.filled(String(contentsOf: name.file, encoding: .utf8)).utf8)
        let members: JSONObject
        do {
            guard let object = try JSON.parse(text).object else { throw TestFailure("no object") }
            members = object
        } catch { throw TestFailure("\(name): \(error)") }
        program = name.program
        given = members["given"]?.object ?? [:]
        config = members["config"]?.string ?? ""
        variables = try texts(members["environment"])
        arguments = members["arguments"]?.array?.compactMap { $0.string } ?? []
        request = try FixtureRequest(members)
        answer = members["answer"]?.object
        let lines = members["lines"]?.array ?? members["output"].map { [$0] } ?? []
        let isAsked = !request.input.isEmpty || !request.environment.isEmpty
        let summary = lines.suffix(1).map { withoutZeros($0) }.filter { isAsked || $0 != [:] }
        output = lines.dropLast() + summary
        exitCode = Int32(members["exit"]?.integer ?? 0)
        log = members["stderr"]?.string
        then = members["then"]?.object ?? [:]
        let known = [
            "given", "config", "environment", "arguments", "event", "stdin", "cgi", "watchdog",
            "answer",
            "output", "lines",
            "exit", "stderr", "then",
        ]
        if let odd = members.members.first(where: { !known.contains($0.name) }) {
            throw TestFailure("\(name): nobody knows the member \(odd.name)")
        }
    }
}

/// How a fixture asks.
enum FixtureRequest {
    case event(JSONValue)
    case raw(String)
    case cgi(environment: [String: String], body: String)
    case watchdog(environment: [String: String], body: String)

    init(_ members: JSONObject) throws {
        if let event = members["event"] {
            self = .event(event)
        } else if let text = members["stdin"]?.string {
            self = .raw(text)
        } else if let cgi = members["cgi"]?.object {
            self = .cgi(
                environment: try texts(cgi["environment"]), body: cgi["body"]?.string ?? "")
        } else if let watchdog = members["watchdog"]?.object {
            self = .watchdog(
                environment: try texts(watchdog["environment"]),
                body: watchdog["body"]?.string ?? "")
        } else {
            throw TestFailure("the fixture asks nothing")
        }
    }

    var input: String {
        switch self {
        case .event(let event): String(decoding: JSON.text(event), as: UTF8.self)
        case .raw(let text): text
        case .cgi(_, let body), .watchdog(_, let body): body
        }
    }

    var environment: [String: String] {
        switch self {
        case .event, .raw: [:]
        case .cgi(let environment, _):
            environment.merging(["GATEWAY_INTERFACE": "CGI/1.1", "SERVER_PROTOCOL": "HTTP/1.1"]) {
                $1
            }
        case .watchdog(let environment, _): environment
        }
    }

    func answer(_ output: String) throws -> Answer {
        switch self {
        case .event, .watchdog: try Answer(event: output)
        case .raw(let text):
            text.drop(while: \.isWhitespace).first == "{"
                ? try Answer(event: output) : try Answer(http: output)
        case .cgi: try Answer(cgi: output)
        }
    }
}

private func withoutZeros(_ value: JSONValue) -> JSONValue {
    guard let members = value.object?.members else { return value }
    var rest = JSONObject()
    for member in members where member.value != 0 { rest[member.name] = member.value }
    return .object(rest)
}

private func texts(_ value: JSONValue?) throws -> [String: String] {
    var texts: [String: String] = [:]
    for member in value?.object?.members ?? [] {
        guard let text = member.value.string else { throw TestFailure("\(member.name) is no text") }
        texts[member.name] = text
    }
    return texts
}

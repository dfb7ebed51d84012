import Turnstone
import Unix

/// The text that `--help` prints.
struct Usage {
    /// The program's description, in lines.
    let purpose: String
    /// The arguments that it takes, for `--help`; `nil` if none.
    var operands: String?

    /// For a program that answers requests.
    init(_ routes: [RoutePattern]) {
        let lines = routes.map { "  \($0.method) \($0.path)\n" }.joined()
        purpose = """
            Answers one request and exits:
            \(lines)
            The request comes on standard input, as HTTP/1.1 or as a JSON event such as
              {"method": "\(routes.first?.method ?? "GET")", "path": "\(routes.first?.path ?? "/")", "headers": {}, "body": {}}
            or through the variables of CGI, which ignores arguments.

            """
    }

    /// For a program that a schedule starts.
    init(scheduled purpose: String) {
        self.purpose = """
            \(purpose)

            Runs once, prints a summary as one line of JSON and exits: \
            0 done, 111 try again later, 100 somebody must act.
            Standard input is empty, {} or a scheduler's event.

            """
    }

    /// For any other program.
    init(other purpose: String) { self.purpose = purpose + "\n" }

    /// For a program that a person starts, with operands.
    init(operands: String, _ purpose: String) {
        self.operands = operands
        self.purpose = purpose + "\n"
    }

    /// Answers `--help` and `--version`, refuses other arguments, and exits; returns without arguments.
    ///
    /// A JSON object is ignored, because OpenWhisk also passes the event as an argument. Under CGI all
    /// arguments are ignored, because a query without `=` becomes arguments (RFC 3875 section 4.4).
    func answerArguments() {
        let isCGI = ThisProcess.environment.contains { $0.name == "GATEWAY_INTERFACE" }
        guard !isCGI else { return }
        let arguments = ThisProcess.arguments
        guard !arguments.isEmpty else { return }
        let program = ThisProcess.name
        let known = ["--help", "-h", "--version"]
        for argument in arguments {
            guard !known.contains(argument), !isOperand(argument) else { continue }
            StandardStreams.writeErrors(
                "\(program): unknown argument \(argument); \(program) --help lists them\n")
            ThisProcess.exit(100)
        }
        guard let first = arguments.first(where: { known.contains($0) }) else { return }
        print(first == "--version" ? "\(program) (Turnstone) \(turnstoneVersion)\n" : help(program))
    }

    private func isOperand(_ argument: String) -> Bool {
        let first = argument.utf8.first
        return first == UInt8(ascii: "{") || operands != nil && first != UInt8(ascii: "-")
    }

    private func help(_ program: String) -> String {
        if let operands {
            return """
                Usage: \(program) [--help | --version]
                       \(program) \(operands)

                \(purpose)
                """
        }
        return """
            Usage: \(program) [--help | --version]

            \(purpose)
            The configuration is in the environment and in the file that TURNSTONE_CONFIG names (default
            /etc/turnstone/turnstone.env). README.md lists the variables.

            """
    }

    private func print(_ text: String) -> Never {
        ThisProcess.exit(writeAnswer(Array(text.utf8)) ? 0 : 111)
    }
}

/// Answers `--help` and `--version` for a program that a person starts, and refuses unknown options.
///
/// - Parameter operands: what it takes after its name, for `--help`.
/// - Returns: its operands.
package func operands(_ operands: String, purpose: String) -> [String] {
    Usage(operands: operands, purpose).answerArguments()
    return ThisProcess.arguments
}

/// Answers `--help` and `--version` for a program that neither serves a route nor runs on a schedule.
package func answerArguments(purpose: String) { Usage(other: purpose).answerArguments() }

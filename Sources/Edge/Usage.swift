import Turnstone
import Unix

/// What `--help` says of a program.
struct Usage {
    /// What it does, in lines.
    let purpose: String

    /// Of a program that answers requests.
    init(_ routes: [RoutePattern]) {
        let lines = routes.map { "  \($0.method) \($0.path)\n" }.joined()
        purpose = """
            Answers one request and exits:
            \(lines)
            The request comes on standard input, as HTTP/1.1 or as a JSON event such as
              {"method": "GET", "path": "/health", "headers": {}, "body": {}}
            or through the variables of CGI, which ignores arguments.

            """
    }

    /// Of a program that a schedule starts.
    init(scheduled purpose: String) {
        self.purpose = """
            \(purpose)

            Runs once, prints a summary as one line of JSON and exits: 0 done, 111 try again later, 100 somebody must act.
            Standard input is empty, {} or a scheduler's event.

            """
    }

    /// Of a program of another kind.
    init(other purpose: String) { self.purpose = purpose + "\n" }

    /// Answers `--help` and `--version`, refuses other arguments, and exits; returns without arguments.
    ///
    /// An object of JSON is ignored: OpenWhisk passes the event as an argument, too. Under CGI a query without `=` becomes arguments
    /// (RFC 3875 section 4.4), so there all are.
    func answerArguments() {
        let isCGI = ThisProcess.environment.contains { $0.name == "GATEWAY_INTERFACE" }
        guard !isCGI else { return }
        let arguments = ThisProcess.arguments
        guard !arguments.isEmpty else { return }
        let program = Files.name(of: ThisProcess.executable ?? "turnstone")
        for argument in arguments {
            switch argument {
            case "--help", "-h": print(help(program))
            case "--version": print("\(program) (Turnstone) \(turnstoneVersion)\n")
            default:
                guard argument.utf8.first != UInt8(ascii: "{") else { continue }
                StandardStreams.writeErrors(
                    "\(program): unknown argument \(argument); \(program) --help lists them\n")
                ThisProcess.exit(100)
            }
        }
    }

    private func help(_ program: String) -> String {
        """
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

/// The same for a program that neither serves a route nor runs by a schedule.
package func answerArguments(purpose: String) { Usage(other: purpose).answerArguments() }

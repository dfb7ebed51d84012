import Turnstone
import Unix

/// Replaces this process with the program of the request's path, in the same folder as this one. That program
/// finds standard input, its environment and the remaining time as if it had been started itself.
///
/// Requests that match no program, or whose path cannot be read, are answered here.
@export(interface)
package func dispatch(_ routes: [ProgramRoute]) -> Never {
    ThisProcess.begin()
    let patterns = routes.map { $0.pattern }
    Usage(patterns).answerArguments()
    let router = Router(patterns)
    var input = Input(peeking: true)
    let invocation = Invocation.detected(by: &input)
    var response: Response
    var line = (method: "", target: "")
    do throws(Failure) {
        line = try invocation.line(from: &input)
        let route = try router.program(for: line.method, at: line.target)
        try input.putBack()
        throw become(routes[route.index].program, until: input.deadline).failure
    } catch {
        Log().failure(error)
        response = Response(error, in: router.errorForm(at: line.target))
    }
    let isWritten = invocation.write(response, withoutBody: line.method == "HEAD", after: &input)
    ThisProcess.exit(isWritten ? 0 : 111)
}

extension Router {
    /// The route whose program answers. A CORS preflight is answered by the first program of the path.
    func program(for method: String, at target: String) throws(Failure) -> PathRoutes.Element {
        let found = try routes(for: method, at: target)
        return method == "OPTIONS" ? found.first : try found.route(for: method)
    }
}

private func become(_ program: String, until deadline: Instant) -> SystemError {
    let folder = Files.parent(of: ThisProcess.executable ?? ".")
    return ThisProcess.become(
        "\(folder)/\(program)", adding: (deadlineVariable, "\(deadline.milliseconds)"))
}

extension Invocation {
    /// Reads method and target. Consumes only as much of standard input as can be put back.
    fileprivate func line(
        from input: inout Input
    ) throws(Failure) -> (method: String, target: String) {
        switch self {
        case .cgi: return lineFromEnvironment("REQUEST_METHOD", "REQUEST_URI")
        case .watchdog:
            let line = lineFromEnvironment("Http_Method", "Http_Path")
            return (line.method, watchdogTarget(line.target))
        case .inetd:
            let (request, _) = try requestLine(input.readLine(limit: headerLimit))
            return (request.method, request.target)
        case .event:
            input.takeAll()
            var request = RawRequest()
            try readEvent(&request, from: &input, bodyLimit: BodyLimit.message)
            return (request.method, request.target)
        }
    }

    private func lineFromEnvironment(_ method: String, _ target: String) -> (
        method: String, target: String
    ) {
        var line = (method: "", target: "")
        for (name, value) in ThisProcess.environment {
            if name == method { line.method = value }
            if name == target { line.target = value }
        }
        return line
    }
}

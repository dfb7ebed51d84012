import Turnstone
import Unix

/// A route, and the program that answers it.
package struct ProgramRoute {
    let method: String
    let pattern: String
    let program: String

    package init(_ method: String, _ pattern: String, _ program: String) {
        self.method = method
        self.pattern = pattern
        self.program = program
    }
}

/// Lets the program of the request's path, which lies beside this one, take this process over. It finds
/// standard input, its environment and what is left of the time as if it had been started itself.
///
/// What has no program, and what cannot be read as far as its path, is answered here.
package func dispatch(_ routes: [ProgramRoute]) -> Never {
    ThisProcess.ignoreBrokenPipes()
    var input = Input(patience: 10_000, looking: true)
    let front = Front.detected(by: &input)
    var response: Response
    var isAPI = false
    var isHead = false
    do throws(Failure) {
        let (method, target) = try front.line(from: &input)
        isHead = method == "HEAD"
        let path = try path(ofTarget: target)
        isAPI = path.contains("api")
        let program = try routes.program(for: method, path)
        try input.putBack()
        throw become(program, until: input.deadline).failure
    } catch {
        Log().failure(error)
        response = Response(error, inside: isAPI)
    }
    front.write(response, withoutBody: isHead, after: &input)
    ThisProcess.exit(0)
}

private func become(_ program: String, until deadline: Int64) -> SystemError {
    let folder = Files.parent(of: ThisProcess.executable ?? ".")
    return ThisProcess.become("\(folder)/\(program)", adding: (deadlineVariable, "\(deadline)"))
}

extension [ProgramRoute] {
    /// The program of a path. Where the ends of two patterns fit, the longer one is meant: `/check/health`
    /// is a player's, whatever the program says to that.
    fileprivate func program(for method: String, _ path: [String]) throws(Failure) -> String {
        guard !method.isEmpty, method.utf8.allSatisfy(isTokenCharacter) else {
            throw .malformed("the method is malformed")
        }
        var fitting: [ProgramRoute] = []
        var longest = 0
        for route in self where parameters(of: route.pattern, in: path) != nil {
            let length = segments(of: route.pattern).count
            if length > longest { fitting = [] }
            longest = Swift.max(length, longest)
            if length == longest { fitting.append(route) }
        }
        guard !fitting.isEmpty else { throw .refused(.notFound, "there is nothing at this path") }
        let wanted = method == "HEAD" ? "GET" : method
        if let route = fitting.first(where: { $0.method == wanted }) { return route.program }
        let allowed = fitting.flatMap { $0.method == "GET" ? ["GET", "HEAD"] : [$0.method] }
        throw .refused(
            .methodNotAllowed(allowed: allowed.joined(separator: ", ")),
            "this path does not take \(method)")
    }
}

extension Front {
    /// Method and target, with no more taken from standard input than can be put back.
    fileprivate func line(
        from input: inout Input
    ) throws(Failure) -> (method: String, target: String) {
        switch self {
        case .gateway: return announced("REQUEST_METHOD", "REQUEST_URI")
        case .watchdog:
            let line = announced("Http_Method", "Http_Path")
            return (line.method, watchdogTarget(line.target))
        case .inetd:
            let (request, _) = try requestLine(input.readLine(limit: headerLimit))
            return (request.method, request.target)
        case .event:
            input.takeAll()
            // The largest body that any program takes.
            let request = try eventRequest(from: &input, bodyLimit: 1 << 20)
            return (request.method, request.target)
        }
    }

    private func announced(_ method: String, _ target: String) -> (method: String, target: String) {
        var line = (method: "", target: "")
        for (name, value) in ThisProcess.environment {
            if name == method { line.method = value }
            if name == target { line.target = value }
        }
        return line
    }
}

import Turnstone
import Unix

/// Lets the program of the request's path, which lies beside this one, take this process over. It finds
/// standard input, its environment and what is left of the time as if it had been started itself.
///
/// Requests that match no program or whose path cannot be read are answered here.
package func dispatch(_ routes: [ProgramRoute]) -> Never {
    ThisProcess.begin()
    Usage(routes.map { ($0.method, $0.pattern) }).answerArguments()
    var input = Input(patience: .seconds(10), looking: true)
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
    let isWritten = front.write(response, withoutBody: isHead, after: &input)
    ThisProcess.exit(isWritten ? 0 : 111)
}

private func become(_ program: String, until deadline: Instant) -> SystemError {
    let folder = Files.parent(of: ThisProcess.executable ?? ".")
    return ThisProcess.become("\(folder)/\(program)", adding: (deadlineVariable, "\(deadline.milliseconds)"))
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
            var request = RawRequest()
            try readEvent(&request, from: &input, bodyLimit: 1 << 20)
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

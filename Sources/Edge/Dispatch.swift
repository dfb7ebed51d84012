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
    var request = RawRequest()
    var response: Response
    do throws(Failure) {
        try invocation.readLine(of: &request, from: &input)
        let route = try router.program(for: request.method, at: request.target)
        try input.putBack()
        throw become(routes[route.index].program, until: input.deadline).failure
    } catch {
        let log = Log()
        log.failure(error)
        response = Response(error, in: router.errorForm(at: request.target))
        invocation.readFields(of: &request, from: &input)
        response.allowOrigin(of: request, nil, log)
    }
    let isWritten = invocation.write(
        response, withoutBody: request.method == "HEAD", after: &input)
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
    fileprivate func readLine(
        of request: inout RawRequest, from input: inout Input
    ) throws(Failure) {
        switch self {
        case .cgi: readCGIHead(&request)
        case .watchdog: readWatchdogHead(&request)
        case .inetd: request = try requestLine(input.readLine(limit: headerLimit)).request
        case .event:
            input.takeAll()
            try readEvent(&request, from: &input, bodyLimit: BodyLimit.message)
        }
    }

    /// Reads the header fields, which the answer to a page depends on. Fields that cannot be read count as
    /// missing.
    fileprivate func readFields(of request: inout RawRequest, from input: inout Input) {
        guard self == .inetd, !request.method.isEmpty else { return }
        do throws(Failure) { try readInetdFields(&request, from: &input) } catch {}
    }
}

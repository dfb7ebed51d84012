import Turnstone
import Unix

/// Answers the one request that this process was started for, and exits.
///
/// Reads the request from whichever front brought it, calls the route's handler once, turns a
/// failure into an answer, writes it, and exits with 0, or with 111 where it could not be written.
///
/// - Parameter bodyLimit: the largest body in bytes; 413 beyond it.
package func serve(bodyLimit: Int = 64 * 1024, _ routes: Route...) -> Never {
    ThisProcess.begin()
    Usage(routes.map { ($0.method, $0.pattern) }).answerArguments()
    var input = Input(patience: .seconds(10))
    let front = Front.detected(by: &input)
    let log = Log()
    var request = RawRequest()
    var variables: Variables?
    var response: Response
    do throws(Failure) {
        try front.read(&request, from: &input, bodyLimit: bodyLimit)
        response = try answer(request, routes, log, &variables)
    } catch {
        log.failure(error)
        let inner = Response(error, inside: routes.first?.isAPI ?? false)
        let other = inner.status >= 500 ? routes.first?.failing?(error, request.isByHand) : nil
        response = other ?? inner
    }
    do throws(Failure) {
        // An answer that came about without the configuration depends on it only for a page.
        if variables == nil, request.headers.origin != nil {
            variables = try Environment.variables()
        }
        if let variables { response.share(with: request.headers, try AllowedOrigins(variables)) }
    } catch { log.failure(error) }
    let isWritten = front.write(
        response, withoutBody: request.method == "HEAD", after: &input)
    ThisProcess.exit(isWritten ? 0 : 111)
}

private func answer(
    _ raw: RawRequest, _ routes: [Route], _ log: Log, _ configuration: inout Variables?
) throws(Failure) -> Response {
    guard !raw.method.isEmpty, raw.method.utf8.allSatisfy(isTokenCharacter) else {
        throw .malformed("the method is malformed")
    }
    let path = try path(ofTarget: raw.target)
    var allowed: [String] = []
    for route in routes {
        guard let parameters = route.parameters(in: path) else { continue }
        guard route.method == raw.method || (route.method == "GET" && raw.method == "HEAD") else {
            allowed += route.method == "GET" ? ["GET", "HEAD"] : [route.method]
            continue
        }
        let variables = try Environment.variables()
        configuration = variables
        try becomeOwner(ofStateIn: variables, log)
        return try route.handler(
            Request(
                method: raw.method, parameters: parameters, query: query(ofTarget: raw.target),
                headers: raw.headers, body: raw.body,
                time: try Environment.now(variables), variables: variables
            ).fromShell(raw.isByHand))
    }
    guard allowed.isEmpty else {
        if raw.isPreflight {
            let variables = try Environment.variables()
            configuration = variables
            return try preflight(raw.headers, allowed, AllowedOrigins(variables))
        }
        throw .refused(
            .methodNotAllowed(allowed: allowed.joined(separator: ", ")),
            "this path does not take \(raw.method)")
    }
    throw .refused(.notFound, "there is nothing at this path")
}

private func preflight(
    _ headers: Headers, _ methods: [String], _ origins: AllowedOrigins
) throws(Failure) -> Response {
    guard let origin = headers.origin, origins.contains(origin) else {
        throw .refused(.forbidden, "this origin is not in ALLOWED_ORIGINS")
    }
    return Response(preflightFor: methods)
}

import Turnstone
import Unix

/// Answers the request that this process was started for, and exits with 0, or with 111 if the answer could
/// not be written.
///
/// Reads the request in the form that the host uses, calls the route's handler once, turns a failure into an
/// answer, and writes it.
///
/// - Parameter bodyLimit: the largest body in bytes; larger ones get 413.
@export(interface)
package func serve(bodyLimit: Int = BodyLimit.usual, _ routes: Route...) -> Never {
    ThisProcess.begin()
    let patterns = routes.map { $0.pattern }
    Usage(patterns).answerArguments()
    let router = Router(patterns)
    var input = Input()
    let invocation = Invocation.detected(by: &input)
    let log = Log()
    var request = RawRequest()
    var variables: Variables?
    var response: Response
    do throws(Failure) {
        try invocation.read(&request, from: &input, bodyLimit: bodyLimit)
        response = try answer(request, routes, router, log, &variables)
    } catch {
        log.failure(error)
        let inner = Response(error, in: router.errorForm(at: request.target))
        let other =
            inner.status >= 500
            ? routes.first?.failing?(error, variables, request.isByHand) : nil
        response = other ?? inner
    }
    response.allowOrigin(of: request, variables, log)
    let isWritten = invocation.write(
        response, withoutBody: request.method == "HEAD", after: &input)
    ThisProcess.exit(isWritten ? 0 : 111)
}

private func answer(
    _ raw: RawRequest, _ routes: [Route], _ router: Router, _ log: Log,
    _ configuration: inout Variables?
) throws(Failure) -> Response {
    let found = try router.routes(for: raw.method, at: raw.target)
    if raw.isPreflight {
        let variables = try Environment.variables()
        configuration = variables
        return try preflight(raw.headers, found.methods, AllowedOrigins(variables))
    }
    let route = try found.route(for: raw.method)
    let variables = try Environment.variables()
    configuration = variables
    try becomeOwner(ofStateIn: variables, log)
    return try routes[route.index].handler(
        Request(
            method: raw.method, parameters: route.parameters, query: query(ofTarget: raw.target),
            headers: raw.headers, body: raw.body,
            time: try Environment.now(variables), variables: variables
        ).from(raw))
}

private func preflight(
    _ headers: Headers, _ methods: String, _ origins: AllowedOrigins
) throws(Failure) -> Response {
    guard let origin = headers.origin, origins.contains(origin) else {
        throw .refused(.forbidden, "this origin is not in ALLOWED_ORIGINS")
    }
    return Response(preflightFor: methods)
}

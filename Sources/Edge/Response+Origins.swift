import Turnstone

// Cross-origin resource sharing, as https://fetch.spec.whatwg.org/#http-cors-protocol defines it.

extension Response {
    /// Answers a preflight: tells a browser which requests a page may send.
    ///
    /// - Parameter methods: those that the path accepts.
    init(preflightFor methods: String) {
        self.init(status: 204, body: .null)
        headers = [
            ("Access-Control-Allow-Methods", methods),
            (
                "Access-Control-Allow-Headers",
                "Authorization, Content-Type, Idempotency-Key, If-Match, X-API-Key"
            ),
            ("Access-Control-Max-Age", "600"),
        ]
    }

    /// Lets pages of the allowed origins read the answer.
    ///
    /// - Parameter variables: the configuration; `nil` if nothing has needed it. For a page's request, the
    ///   answer depends on it even then.
    mutating func allowOrigin(of request: RawRequest, _ variables: Variables?, _ log: Log) {
        do throws(Failure) {
            var variables = variables
            if variables == nil, request.headers.origin != nil {
                variables = try Environment.variables()
            }
            if let variables { allowOrigin(of: request.headers, try AllowedOrigins(variables)) }
        } catch { log.failure(error) }
    }

    /// Lets pages of the allowed origins read the answer. Every answer states that it varies by origin, even
    /// without an origin in the request: otherwise a cache could give it to a page.
    private mutating func allowOrigin(of request: Headers, _ origins: AllowedOrigins) {
        guard !origins.isEmpty else { return }
        headers.append(("Vary", "Origin"))
        guard let origin = request.origin, origins.contains(origin) else { return }
        headers.append(("Access-Control-Allow-Origin", origin))
        headers.append(("Access-Control-Allow-Credentials", "true"))
        headers.append(("Access-Control-Expose-Headers", "ETag, Retry-After, WWW-Authenticate"))
    }
}

extension RawRequest {
    /// Whether this is a browser's preflight, sent before a page's request.
    var isPreflight: Bool {
        method == "OPTIONS" && headers.origin != nil
            && headers["access-control-request-method"] != nil
    }
}

extension Headers {
    /// The page's origin as its browser states it; `nil` if there is none or more than one.
    var origin: String? {
        let stated = fields.filter { $0.name == "origin" }
        return stated.count == 1 ? stated[0].value : nil
    }
}

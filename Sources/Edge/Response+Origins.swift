import Turnstone

// Cross-origin resource sharing, as https://fetch.spec.whatwg.org/#http-cors-protocol defines it.

extension Response {
    /// Answers a browser that asks whether a page may send a request.
    ///
    /// - Parameter methods: what the path takes.
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

    /// Lets a page of one of the origins read the answer. Every answer says that it depends on the origin, also the
    /// one to a request without: a cache must not give it to a page.
    mutating func share(with request: Headers, _ origins: AllowedOrigins) {
        guard !origins.isEmpty else { return }
        headers.append(("Vary", "Origin"))
        guard let origin = request.origin, origins.contains(origin) else { return }
        headers.append(("Access-Control-Allow-Origin", origin))
        headers.append(("Access-Control-Allow-Credentials", "true"))
        headers.append(("Access-Control-Expose-Headers", "ETag, Retry-After, WWW-Authenticate"))
    }
}

extension RawRequest {
    /// Whether a browser asks on behalf of a page, before it sends the page's request.
    var isPreflight: Bool {
        method == "OPTIONS" && headers.origin != nil
            && headers["access-control-request-method"] != nil
    }
}

extension Headers {
    /// The page's origin as its browser states it; `nil` where none or several are stated.
    var origin: String? {
        let stated = fields.filter { $0.name == "origin" }
        return stated.count == 1 ? stated[0].value : nil
    }
}

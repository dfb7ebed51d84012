import Turnstone

extension Response {
    /// The answer to a request that failed. What the caller cannot mend is not told to it in detail.
    init(_ failure: Failure, inside api: Bool) {
        let status: Int
        var extra: [(name: String, value: String)] = []
        var sentence = failure.sentence
        switch failure.disposition {
        case .refused(let refusal):
            status = refusal.status
            extra = refusal.headers
        case .later(let seconds):
            status = 503
            extra = [("Retry-After", "\(seconds)")]
            sentence = "temporarily unavailable"
        case .badUpstream:
            status = 502
        case .misconfigured:
            status = 503
            // The log names the variable, and the file with it.
            sentence = "the server's configuration needs its operator's attention"
        case .broken:
            status = 500
            sentence = api ? "Server error" : "the server's state needs its operator's attention"
        }
        self.init(
            status: status,
            body: api
                ? ["success": false, "error": .string(sentence)] : ["error": .string(sentence)])
        headers = extra
    }
}

extension Refusal {
    var status: Int {
        switch self {
        case .malformed: 400
        case .unauthenticated, .unidentified: 401
        case .forbidden: 403
        case .notFound: 404
        case .methodNotAllowed: 405
        case .notAcceptable: 422
        case .tooSlow: 408
        case .conflict: 409
        case .changedMeanwhile: 412
        case .tooLarge: 413
        case .unsupportedMediaType: 415
        case .tooMany: 429
        case .headersTooLarge: 431
        }
    }

    var headers: [(name: String, value: String)] {
        switch self {
        case .methodNotAllowed(let allowed): [("Allow", allowed)]
        case .unidentified(let challenge): [("WWW-Authenticate", challenge)]
        case .tooMany(let seconds): [("Retry-After", "\(seconds)")]
        case .unauthenticated: [("WWW-Authenticate", "ApiKey realm=\"turnstone\"")]
        default: []
        }
    }
}

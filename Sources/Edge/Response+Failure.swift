import Turnstone

extension Response {
    /// Makes the answer to a request that failed. It gives details only of what the caller can correct.
    init(_ failure: Failure, in form: ErrorForm) {
        let status: Int
        var extra: [(name: String, value: String)] = []
        var sentence = failure.sentence
        switch failure.disposition {
        case .refused(let refusal):
            status = form.status(of: refusal)
            extra = form == .oneSignal && status == 403 ? [] : refusal.headers
        case .later(let seconds):
            status = 503
            extra = [("Retry-After", "\(seconds)")]
            sentence = "temporarily unavailable"
        case .badUpstream:
            status = 502
        case .misconfigured:
            status = 503
            // The log names the variable and the file.
            sentence = "the server is misconfigured; see its log"
        case .broken:
            status = 500
            // Failures with a file or one of these causes are about the state folder.
            let isStoredData =
                failure.file != nil
                || [FailureCause.corrupt, FailureCause.unreadable].contains(failure.cause)
            let problem = isStoredData ? "stored data cannot be used" : "internal error"
            sentence = problem + "; see the server's log"
        }
        self.init(status: status, body: form.body(form.sentence(of: failure) ?? sentence))
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
        case .unacceptable: 422
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

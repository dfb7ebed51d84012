/// Who must act on a failure.
package enum Disposition: Equatable, Sendable {
    /// The caller must correct the request.
    case refused(Refusal)
    /// The same request may work soon.
    case later(seconds: Int)
    /// Another server gave an unusable answer. Nobody here can fix that.
    case badUpstream
    /// The operator must correct the configuration.
    case misconfigured
    /// The operator must repair the state folder, or we the program.
    case broken
}

/// What the caller must correct. Only `Edge` turns these into HTTP status codes.
package enum Refusal: Equatable, Sendable {
    case malformed
    case unauthenticated
    /// The same, with the scheme by which the caller should authenticate (RFC 9110 section 11.6.1).
    case unidentified(by: String)
    case forbidden
    case notFound
    /// The route exists for these methods.
    case methodNotAllowed(allowed: String)
    case tooSlow
    case conflict
    case changedMeanwhile
    case tooLarge
    case headersTooLarge
    case unsupportedMediaType
    case notAcceptable
    /// The next request is allowed after this many seconds.
    case tooMany(seconds: Int)
}

/// The error that crosses module boundaries: who must act, and a sentence for that person.
package struct Failure: Error, Equatable, Sendable {
    package let disposition: Disposition
    /// "verb object: reason", without the program's name, a token, a key or a body.
    package let sentence: String
    /// The cause's searchable name, such as `busy`, `ENOSPC` or `BadDeviceToken`.
    package let cause: String
    /// The path of the file that cannot be used, if a single file is at fault.
    package let file: String?

    package init(
        _ disposition: Disposition, _ sentence: String, cause: String, file: String? = nil
    ) {
        self.disposition = disposition
        self.sentence = sentence
        self.cause = cause
        self.file = file
    }

    package static func refused(_ refusal: Refusal, _ sentence: String) -> Failure {
        Failure(.refused(refusal), sentence, cause: "refused")
    }

    package static func malformed(_ sentence: String) -> Failure {
        .refused(.malformed, sentence)
    }

    /// A value that is well-formed but cannot be accepted.
    package static func unacceptable(_ sentence: String) -> Failure {
        .refused(.notAcceptable, sentence)
    }

    package static func misconfigured(_ sentence: String) -> Failure {
        Failure(.misconfigured, sentence, cause: "configuration")
    }
}

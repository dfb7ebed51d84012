/// Who must act on a failure.
package enum Disposition: Equatable, Sendable {
    /// The caller must mend the request.
    case refused(Refusal)
    /// The same request may work soon.
    case later(seconds: Int)
    /// Another server has said what makes no sense: nobody here can mend that.
    case nonsense
    /// Whoever runs the installation must mend its configuration.
    case misconfigured
    /// Whoever runs the installation must mend its state, or we our program.
    case broken
}

/// What the caller must mend. `Edge` alone turns these into HTTP's numbers.
package enum Refusal: Equatable, Sendable {
    case malformed
    case unauthenticated
    /// The same, with what the caller should identify by (RFC 9110 section 11.6.1).
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
    /// There is room again after so many seconds.
    case tooMany(seconds: Int)
}

/// The one error that crosses a module's boundary: who must act, and a sentence for that person.
package struct Failure: Error, Equatable, Sendable {
    package let disposition: Disposition
    /// "verb object: reason", without the program's name, a token, a key or a body.
    package let sentence: String
    /// The cause's searchable name, such as `busy`, `ENOSPC` or `BadDeviceToken`.
    package let cause: String
    /// The path of the file that cannot be used, where it is one file's fault.
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

    /// A value that is well-formed, but cannot be accepted.
    package static func unacceptable(_ sentence: String) -> Failure {
        .refused(.notAcceptable, sentence)
    }

    package static func misconfigured(_ sentence: String) -> Failure {
        Failure(.misconfigured, sentence, cause: "configuration")
    }
}

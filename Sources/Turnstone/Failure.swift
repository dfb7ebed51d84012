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
        .refused(.unacceptable, sentence)
    }

    package static func misconfigured(_ sentence: String) -> Failure {
        Failure(.misconfigured, sentence, cause: "configuration")
    }
}

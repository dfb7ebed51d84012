/// The faults that the caller must correct. Only `Edge` turns these into HTTP status codes.
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
    /// The request is well-formed, but one of its values cannot be accepted.
    case unacceptable
    /// The next request is allowed after this many seconds.
    case tooMany(seconds: Int)
}

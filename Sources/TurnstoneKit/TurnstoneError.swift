/// Why a request brought nothing. Its sentence, where it has one, is the installation's own and in English.
public enum TurnstoneError: Error, Hashable, Sendable {
    /// 401: the key or the token is missing, unknown, expired or revoked. Sign in again.
    case unauthorized(String)
    /// 403: it is another user's.
    case forbidden(String)
    /// 404
    case notFound(String)
    /// 409: somebody has it already, or a quota is used up.
    case conflict(String)
    /// 412: it was changed since it was read. Read it again.
    case changed(String)
    /// Another 4xx: the request itself is wrong.
    case refused(status: Int, String)
    /// 429 or 503, also after the repetitions that ``Patience`` allows. Try again after that time.
    case later(after: Duration?, String)
    /// Another 5xx: the installation has a problem that its operator must solve.
    case broken(status: Int, String)
    /// The installation could not be reached, or its answer did not arrive.
    case unreachable(String)
    /// The answer has another form than the installation's. Check the address: something else may answer
    /// there.
    case unexpected(String)
    /// The task was cancelled.
    case cancelled
}

import Foundation

/// Why a request brought nothing. Its sentence, where it has one, is the installation's own and in English.
///
/// ```swift
/// do throws(TurnstoneError) {
///     try await client.register(.apple(deviceToken))
/// } catch .unauthorized {
///     signOut()
/// } catch {
///     show(error.localizedDescription)
/// }
/// ```
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
    ///
    /// A 503 may mean that a part was done: a registration with a profile may have registered the device, and an erasure
    /// may have erased a part. The same call completes it. Before you repeat one of those that ``Patience`` lists, look:
    /// ``ServerClient/channels(in:)`` shows whether there is one more, ``PlayerClient/keys()`` whether the old key works,
    /// and a profile or preferences that you read again whether they have changed. After a 429 of the installation,
    /// nothing was done.
    ///
    /// A sentence such as `status 503` is that of something between, and the whole request may have been done. So it may
    /// if a proxy answers JSON with `error`, which is taken for the installation's.
    case later(after: Duration?, String)
    /// Another 5xx: the installation has a problem that its operator must solve.
    case broken(status: Int, String)
    /// The installation could not be reached, or its answer did not arrive.
    case unreachable(String)
    /// The address is not that of an installation, which is `https` on all but this machine, or the answer has
    /// another form than an installation's: check the address. Something between, such as a hotel's network that
    /// wants you to sign in, may have answered.
    case unexpected(String)
    /// Nothing was sent, because the call itself is wrong: an id that cannot be in a path, such as an empty one,
    /// a number that JSON has not, more than 64 levels of arrays and objects, a key with a line break, or a change
    /// since a profile that has no tag or is another user's.
    case invalid(String)
    /// The task was cancelled.
    case cancelled
}

extension TurnstoneError {
    /// The sentence; empty for a cancelled task.
    public var message: String {
        switch self {
        case .unauthorized(let message), .forbidden(let message), .notFound(let message),
            .conflict(let message), .changed(let message), .refused(_, let message),
            .later(_, let message), .broken(_, let message), .unreachable(let message),
            .unexpected(let message), .invalid(let message):
            message
        case .cancelled: ""
        }
    }

    /// After how long to try again, where the installation says it.
    public var retryAfter: Duration? {
        if case .later(let pause, _) = self { pause } else { nil }
    }

    /// Whether the same request may succeed later. One that was ``unreachable(_:)`` may have been done.
    public var isTemporary: Bool {
        switch self {
        case .later, .unreachable: true
        case .broken(let status, _): [502, 504].contains(status)
        case .refused(let status, _): [408, 425].contains(status)
        default: false
        }
    }
}

extension TurnstoneError: LocalizedError {
    /// What went wrong, for a log or an alert in English.
    public var errorDescription: String? {
        switch self {
        case .refused(let status, let message), .broken(let status, let message):
            message == "status \(status)" ? message : "\(message) (status \(status))"
        case .unreachable(let message): "The server cannot be reached: \(message)"
        case .cancelled: "The request was cancelled."
        default: message
        }
    }
}

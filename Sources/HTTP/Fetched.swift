import Turnstone

/// A finished request.
package struct Fetched {
    package let tag: Int
    package let result: FetchResult
}

package enum FetchResult {
    case answered(FetchedAnswer)
    /// No answer or an incomplete one.
    case failed(FetchFault)
}

/// Why a request has no answer.
package enum FetchFault: Equatable, Sendable {
    /// The server cannot be reached. The reason is a phrase such as "connection refused".
    case unreachable(String)
    /// The server's certificate is not trusted. The reason is a phrase such as "it has expired".
    case untrusted(String)
    /// The answer ended early or is not HTTP. The reason is a phrase such as "the answer is too large".
    case unusable(String)
}

package struct FetchedAnswer {
    package let status: Int
    package let body: [UInt8]
    package let entityTag: String?
    /// `Retry-After`, in either of its forms.
    package let retryAfter: Interval?
}

import Turnstone

/// A finished request.
package struct Fetched {
    package let tag: Int
    package let result: FetchResult
}

package enum FetchResult {
    case answered(FetchedAnswer)
    /// No answer or an incomplete one; libcurl's reason.
    case failed(String)
}

package struct FetchedAnswer {
    package let status: Int
    package let body: [UInt8]
    package let entityTag: String?
    /// `Retry-After`, in either of its forms.
    package let retryAfter: Interval?
}

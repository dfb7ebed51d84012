import HTTP2
import Turnstone

/// The pause that FCM or the token server asks for (`Retry-After`).
///
/// - Returns: from a second, also for zero and the past, to an hour; `nil` if it asks for none or if it cannot
///   be read.
func retryAfter(_ fields: HeaderFields, now: Timestamp) -> Interval? {
    requestedPause(fields["retry-after"], now: now, shortest: .seconds(1)).map {
        min($0, .hours(1))
    }
}

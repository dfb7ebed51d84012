import HTTP2
import Turnstone

/// The pause that FCM or the token server asks for (`Retry-After`).
///
/// - Returns: from a second to an hour; `nil` if it asks for none or if it cannot be read.
func retryAfter(_ fields: HeaderFields, now: Timestamp) -> Interval? {
    guard let text = fields["retry-after"], let pause = requestedPause(text, now: now) else {
        return nil
    }
    return min(max(pause, .seconds(1)), .hours(1))
}

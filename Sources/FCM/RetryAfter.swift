import HTTP2
import Turnstone

/// The pause that a server asks for: `Retry-After` in seconds or as a date (RFC 9110 section 10.2.3).
///
/// - Returns: from a second to an hour; `nil` if it asks for none or if it cannot be read.
func retryAfter(_ fields: HeaderFields, now: Timestamp) -> Interval? {
    guard let text = fields["retry-after"] else { return nil }
    let pause: Interval
    if let date = httpDate(text) {
        pause = date - now
    } else {
        guard !text.isEmpty, text.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
        // More digits than a number has are still a long pause.
        pause = .seconds(Int64(text) ?? .max)
    }
    return min(max(pause, .seconds(1)), .hours(1))
}

/// Reads an IMF-fixdate, such as `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 section 5.6.7). The older forms,
/// which no server may send any more, give `nil`.
func httpDate(_ text: String) -> Timestamp? {
    let words = text.split(separator: " ", omittingEmptySubsequences: false)
    guard words.count == 6, words[0].utf8.count == 4, words[0].hasSuffix(","), words[5] == "GMT",
        let month = months.firstIndex(of: String(words[2]))
    else { return nil }
    let number = month < 9 ? "0\(month + 1)" : "\(month + 1)"
    return Timestamp("\(words[3])-\(number)-\(words[1])T\(words[4])Z")
}

private let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
]

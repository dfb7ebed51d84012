import HTTP2
import Turnstone

/// The pause that a server asks for: `Retry-After` in seconds or as a date (RFC 9110 section 10.2.3).
///
/// - Returns: from a second to an hour; `nil` if it asks for none or if it cannot be read.
func retryAfter(_ fields: HeaderFields, now: Timestamp) -> Interval? {
    guard let text = fields["retry-after"] else { return nil }
    let pause: Interval
    if let date = httpDate(text, now: now) {
        pause = date - now
    } else {
        guard !text.isEmpty, text.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
        // More digits than a number has are still a long pause.
        pause = .seconds(Int64(text) ?? .max)
    }
    return min(max(pause, .seconds(1)), .hours(1))
}

/// Reads a date in one of the forms that a recipient has to know (RFC 9110 section 5.6.7):
/// `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT` and `Sun Nov  6 08:49:37 1994`.
///
/// - Parameter now: decides on the century of a year with two digits: no date is more than 50 years ahead.
func httpDate(_ text: String, now: Timestamp) -> Timestamp? {
    let words = text.split(separator: " ").map(String.init)
    switch words.count {
    case 6 where words[0].hasSuffix(",") && words[5] == "GMT":
        return moment(words[1], words[2], words[3], words[4])
    case 5:
        return moment(
            words[2].utf8.count == 1 ? "0\(words[2])" : words[2], words[1], words[4], words[3])
    case 4 where words[0].hasSuffix(",") && words[3] == "GMT":
        let parts = words[1].split(separator: "-", omittingEmptySubsequences: false).map(
            String.init)
        guard parts.count == 3, parts[2].utf8.count == 2 else { return nil }
        return ["20", "19"].lazy
            .compactMap { moment(parts[0], parts[1], $0 + parts[2], words[2]) }
            .first { $0 - now < .days(50 * 365) }
    default: return nil
    }
}

private func moment(_ day: String, _ month: String, _ year: String, _ time: String) -> Timestamp? {
    guard let month = months.firstIndex(of: month) else { return nil }
    let number = month < 9 ? "0\(month + 1)" : "\(month + 1)"
    return Timestamp("\(year)-\(number)-\(day)T\(time)Z")
}

private let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
]

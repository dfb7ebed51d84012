/// The pause that a server asks for: the value of `Retry-After`, in seconds or as a date (RFC 9110 section
/// 10.2.3).
///
/// - Parameters:
///   - text: the field's value; `nil` if the answer does not have it.
///   - shortest: the pause instead of a shorter one or of a date in the past; `nil`: zero and the past ask for
///     none.
/// - Returns: `nil` if it asks for none or cannot be read.
package func requestedPause(
    _ text: String?, now: Timestamp, shortest: Interval? = nil
) -> Interval? {
    guard let text, let pause = distance(to: text, now: now) else { return nil }
    if let shortest { return max(pause, shortest) }
    return pause > .seconds(0) ? pause : nil
}

/// - Returns: `nil` if it cannot be read. It is negative if the date is in the past.
private func distance(to text: String, now: Timestamp) -> Interval? {
    if let date = httpDate(text, now: now) { return date - now }
    guard !text.isEmpty, text.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
    // More digits than a number has are still a long pause.
    return .seconds(Int64(text) ?? .max)
}

/// Reads a date in one of the forms that a recipient has to know (RFC 9110 section 5.6.7):
/// `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT` and `Sun Nov  6 08:49:37 1994`.
///
/// - Parameter now: decides on the century of a year with two digits: no date is more than 50 years ahead.
private func httpDate(_ text: String, now: Timestamp) -> Timestamp? {
    let words = parts(of: text, UInt8(ascii: " "))
    switch words.count {
    case 6 where endsWithComma(words[0]) && words[5] == "GMT":
        return moment(words[1], words[2], words[3], words[4])
    case 5:
        return moment(
            words[2].utf8.count == 1 ? "0\(words[2])" : words[2], words[1], words[4], words[3])
    case 4 where endsWithComma(words[0]) && words[3] == "GMT":
        let day = parts(of: words[1], UInt8(ascii: "-"))
        guard day.count == 3, day[2].utf8.count == 2 else { return nil }
        for century in ["20", "19"] {
            if let date = moment(day[0], day[1], "\(century)\(day[2])", words[2]),
                date - now < .days(50 * 365)
            {
                return date
            }
        }
        return nil
    default: return nil
    }
}

/// Empty parts are left out.
private func parts(of text: String, _ separator: UInt8) -> [String] {
    text.utf8.split(separator: separator).map { String(decoding: $0, as: UTF8.self) }
}

private func endsWithComma(_ text: String) -> Bool { text.utf8.last == UInt8(ascii: ",") }

private func moment(_ day: String, _ month: String, _ year: String, _ time: String) -> Timestamp? {
    guard let month = months.firstIndex(of: month) else { return nil }
    let number = month < 9 ? "0\(month + 1)" : "\(month + 1)"
    return Timestamp("\(year)-\(number)-\(day)T\(time)Z")
}

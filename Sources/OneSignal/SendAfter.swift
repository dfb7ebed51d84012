import Turnstone

/// Reads a moment in one of the forms that OneSignal documents for `send_after`.
///
/// - `2026-11-22T23:53:39.123+01:00`, with a blank for the `T`, without seconds, fraction or offset
/// - `2026-11-22 23:53:39 GMT+0100` or `UTC+01:00`
/// - `Sun Nov 22 2026 23:53:39 GMT+0100 (CET)`, with or without the day of the week
///
/// Without an offset it is in UTC.
func moment(_ text: String) -> Timestamp? {
    var parts: [[UInt8]] = []
    for word in text.utf8.split(separator: 32) {
        let bytes = Array(word)
        if bytes.count > 10, bytes[10] == UInt8(ascii: "T") {
            parts += [Array(bytes[..<10]), Array(bytes[11...])]
        } else {
            parts.append(bytes)
        }
    }
    var words = parts[...]
    guard let date = date(&words), let time = words.popFirst() else { return nil }
    let start = time.prefix { (48...58).contains($0) }
    var clock = String(decoding: start, as: UTF8.self)
    if start.count == 5 { clock += ":00" }
    var rest = time.dropFirst(start.count)
    if rest.first == UInt8(ascii: ".") { rest = rest.dropFirst().drop { (48...57).contains($0) } }
    guard let moment = Timestamp("\(date)T\(clock)Z"),
        let minutes = offset(Array(rest) + (words.popFirst() ?? []))
    else { return nil }
    // The name of the time zone follows in brackets.
    guard words.first.map({ $0.first == UInt8(ascii: "(") }) ?? true else { return nil }
    return moment - .minutes(minutes)
}

/// Takes the words of a date, and returns it as `2026-11-22`.
private func date(_ words: inout ArraySlice<[UInt8]>) -> String? {
    guard let first = words.popFirst() else { return nil }
    if first.count == 10, (48...57).contains(first[0]) {
        return String(decoding: first, as: UTF8.self)
    }
    guard var month = number(ofMonth: first) ?? words.first.flatMap({ number(ofMonth: $0) }) else {
        return nil
    }
    if number(ofMonth: first) == nil { words.removeFirst() }
    guard var day = words.popFirst(), let year = words.popFirst(), (1...2).contains(day.count)
    else { return nil }
    if day.count == 1 { day = [48] + day }
    if month.count == 1 { month = [48] + month }
    return String(decoding: year + [45] + month + [45] + day, as: UTF8.self)
}

private func number(ofMonth word: [UInt8]) -> [UInt8]? {
    let names = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ]
    let start = word.prefix(3).map { $0 | 0x20 }
    guard let place = names.firstIndex(where: { start.elementsEqual($0.utf8) }) else { return nil }
    return Array(String(place + 1).utf8)
}

/// The minutes of `Z`, `+0100`, `-01:00`, `GMT`, `UTC+01:00`, or nothing.
private func offset(_ bytes: [UInt8]) -> Int64? {
    var rest = bytes[...]
    for name in ["GMT", "UTC", "Z"] where rest.starts(with: name.utf8) {
        rest = rest.dropFirst(name.utf8.count)
        break
    }
    guard let sign = rest.popFirst() else { return 0 }
    guard sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") else { return nil }
    let digits = rest.filter { $0 != UInt8(ascii: ":") }
    guard digits.count == 4, digits.allSatisfy({ (48...57).contains($0) }) else { return nil }
    let numbers = digits.map { Int64($0 - 48) }
    let minutes = (numbers[0] * 10 + numbers[1]) * 60 + numbers[2] * 10 + numbers[3]
    return sign == UInt8(ascii: "-") ? -minutes : minutes
}

/// Reads a time of day in one of the forms that OneSignal documents for `delivery_time_of_day`: `9:00AM`,
/// `21:45`, `9:45:30`. Seconds are rounded up to the next minute.
///
/// - Returns: in the form `09:00`.
func timeOfDay(_ text: String) -> String? {
    var bytes = Array(text.utf8.filter { $0 != 32 })
    var half: UInt8?
    if let last = bytes.last, last | 0x20 == UInt8(ascii: "m") {
        half = bytes.dropLast().last.map { $0 | 0x20 }
        guard half == UInt8(ascii: "a") || half == UInt8(ascii: "p") else { return nil }
        bytes.removeLast(2)
    }
    var numbers: [Int] = []
    for part in bytes.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false) {
        guard (1...2).contains(part.count), part.allSatisfy({ (48...57).contains($0) }) else {
            return nil
        }
        numbers.append(part.reduce(0) { $0 * 10 + Int($1 - 48) })
    }
    guard (half == nil ? 2...3 : 1...3).contains(numbers.count) else { return nil }
    numbers += Array(repeating: 0, count: 3 - numbers.count)
    var (hour, minute) = (numbers[0], numbers[1])
    guard minute < 60, numbers[2] < 60, half == nil ? hour < 24 : (1...12).contains(hour) else {
        return nil
    }
    if half != nil { hour = hour % 12 + (half == UInt8(ascii: "p") ? 12 : 0) }
    minute += numbers[2] > 0 ? 1 : 0
    return clockText((hour * 60 + minute) % 1440)
}

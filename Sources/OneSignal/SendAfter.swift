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
    // What follows is the name of the time zone in brackets.
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

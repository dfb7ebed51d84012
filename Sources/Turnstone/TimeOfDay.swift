/// Reads `07:30`, as minutes since midnight.
package func minuteOfDay(_ text: String) -> Int? {
    let bytes = Array(text.utf8)
    guard bytes.count == 5, bytes[2] == UInt8(ascii: ":") else { return nil }
    let digits = [bytes[0], bytes[1], bytes[3], bytes[4]].map { Int($0) - 48 }
    guard digits.allSatisfy({ (0...9).contains($0) }) else { return nil }
    let hour = digits[0] * 10 + digits[1]
    let minute = digits[2] * 10 + digits[3]
    return hour < 24 && minute < 60 ? hour * 60 + minute : nil
}

/// Minutes since midnight, such as `07:30`.
package func clockText(_ minutes: Int) -> String {
    let digits = [minutes / 600, minutes / 60 % 10, minutes % 60 / 10, minutes % 10]
    let text = digits.map { UInt8($0 + 48) }
    return String(decoding: text[..<2] + [UInt8(ascii: ":")] + text[2...], as: UTF8.self)
}

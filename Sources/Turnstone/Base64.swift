/// Encodes bytes as base64 with padding (RFC 4648 section 4).
package func base64(_ bytes: [UInt8]) -> String {
    encoded(bytes, standardAlphabet, padded: true)
}

/// Encodes bytes as base64url without padding (RFC 4648 section 5), as JSON Web Signature requires (RFC 7515
/// section 2).
package func base64URL(_ bytes: [UInt8]) -> String {
    encoded(bytes, urlAlphabet, padded: false)
}

/// Decodes the output of ``base64(_:)``.
///
/// - Returns: `nil` for any other text.
package func base64Decoded(_ text: String) -> [UInt8]? {
    let digits = Array(text.utf8)
    guard digits.count % 4 == 0 else { return nil }
    return decoded(withoutPadding(digits[...]), standardValues)
}

/// Decodes the output of ``base64URL(_:)``.
///
/// - Returns: `nil` for any other text.
package func base64URLDecoded(_ text: String) -> [UInt8]? {
    decoded(Array(text.utf8)[...], urlValues)
}

/// Decodes base64url with padding or without it.
///
/// - Returns: `nil` for any other text.
package func base64URLDecoded(paddedOrNot text: String) -> [UInt8]? {
    base64URLDecoded(paddedOrNot: Array(text.utf8)[...])
}

/// The same for a text's bytes.
func base64URLDecoded(paddedOrNot digits: ArraySlice<UInt8>) -> [UInt8]? {
    decoded(digits.count % 4 == 0 ? withoutPadding(digits) : digits, urlValues)
}

private func withoutPadding(_ digits: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    var digits = digits
    for _ in 0..<2 where digits.last == UInt8(ascii: "=") { digits.removeLast() }
    return digits
}

private let common = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
private let standardAlphabet = Array((common + "+/").utf8)
private let urlAlphabet = Array((common + "-_").utf8)
private let standardValues = values(of: standardAlphabet)
private let urlValues = values(of: urlAlphabet)

/// The value of each byte as a digit; 255 for all that are none.
private func values(of alphabet: [UInt8]) -> [UInt8] {
    var values = [UInt8](repeating: 255, count: 256)
    for (value, letter) in alphabet.enumerated() { values[Int(letter)] = UInt8(value) }
    return values
}

private func encoded(_ bytes: [UInt8], _ alphabet: [UInt8], padded: Bool) -> String {
    var text: [UInt8] = []
    text.reserveCapacity((bytes.count + 2) / 3 * 4)
    var bits: UInt32 = 0
    var count: UInt32 = 0
    for byte in bytes {
        bits = (bits << 8 | UInt32(byte)) & 0xffff
        count += 8
        while count >= 6 {
            count -= 6
            text.append(alphabet[Int(bits >> count & 63)])
        }
    }
    if count > 0 { text.append(alphabet[Int(bits << (6 - count) & 63)]) }
    while padded, text.count % 4 != 0 { text.append(UInt8(ascii: "=")) }
    return String(decoding: text, as: UTF8.self)
}

private func decoded(_ digits: ArraySlice<UInt8>, _ values: [UInt8]) -> [UInt8]? {
    guard digits.count % 4 != 1 else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(digits.count * 3 / 4)
    var bits: UInt32 = 0
    var count: UInt32 = 0
    for digit in digits {
        let value = values[Int(digit)]
        guard value != 255 else { return nil }
        bits = (bits << 6 | UInt32(value)) & 0xffff
        count += 6
        if count >= 8 {
            count -= 8
            bytes.append(UInt8(truncatingIfNeeded: bits >> count))
        }
    }
    // Leftover bits must be 0: otherwise several texts would encode the same value.
    guard bits & (1 << count - 1) == 0 else { return nil }
    return bytes
}

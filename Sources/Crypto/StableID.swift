import Turnstone

/// Derives a UUID from a name; the same name always gives the same UUID (RFC 9562 section 5.8, version 8).
///
/// - Returns: the canonical form in lower case, which `apns-id` requires.
package func stableUUID(_ name: String) -> String {
    var bytes = Array(SHA256.hash(Array(name.utf8)).prefix(16))
    bytes[6] = bytes[6] & 0x0f | 0x80
    bytes[8] = bytes[8] & 0x3f | 0x80
    var text: [UInt8] = []
    text.reserveCapacity(36)
    for (place, byte) in bytes.enumerated() {
        if [4, 6, 8, 10].contains(place) { text.append(UInt8(ascii: "-")) }
        text.append(digit(byte >> 4))
        text.append(digit(byte & 15))
    }
    return String(decoding: text, as: UTF8.self)
}

private func digit(_ number: UInt8) -> UInt8 {
    number < 10 ? UInt8(ascii: "0") + number : UInt8(ascii: "a") - 10 + number
}

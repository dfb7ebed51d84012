import Turnstone

/// Derives a UUID from a name; the same name always gives the same UUID (RFC 9562 section 5.8, version 8).
///
/// - Returns: the canonical form in lower case, which `apns-id` requires.
package func stableUUID(_ name: String) -> String {
    var sum = SHA256()
    sum.update(name)
    return uuid(sum.finish())
}

/// The same for a name of three parts with blanks between them.
package func stableUUID(_ first: String, _ second: String, _ third: String) -> String {
    var sum = SHA256()
    sum.update(first)
    sum.update(" ")
    sum.update(second)
    sum.update(" ")
    sum.update(third)
    return uuid(sum.finish())
}

private func uuid(_ hash: [UInt8]) -> String {
    let text = [UInt8](unsafeUninitializedCapacity: 36) { buffer, count in
        for place in 0..<16 {
            var byte = hash[place]
            if place == 6 { byte = byte & 0x0f | 0x80 }
            if place == 8 { byte = byte & 0x3f | 0x80 }
            if place == 4 || place == 6 || place == 8 || place == 10 {
                buffer[count] = UInt8(ascii: "-")
                count += 1
            }
            buffer[count] = digit(byte >> 4)
            buffer[count + 1] = digit(byte & 15)
            count += 2
        }
    }
    return String(decoding: text, as: UTF8.self)
}

private func digit(_ number: UInt8) -> UInt8 {
    number < 10 ? UInt8(ascii: "0") + number : UInt8(ascii: "a") - 10 + number
}

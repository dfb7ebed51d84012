/// Wraps bytes in gzip format without compressing them (RFC 1952, and RFC 1951 section 3.2.4). A client has
/// to unpack them anyway.
func gzipStored(_ bytes: [UInt8]) -> [UInt8] {
    var out: [UInt8] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]
    var rest = bytes[...]
    repeat {
        let block = rest.prefix(65_535)
        rest = rest.dropFirst(block.count)
        let length = UInt16(block.count)
        out.append(rest.isEmpty ? 1 : 0)
        out += littleEndian(UInt32(length) | UInt32(~length) << 16)
        out += block
    } while !rest.isEmpty
    return out + littleEndian(checksum(bytes))
        + littleEndian(UInt32(truncatingIfNeeded: bytes.count))
}

private func littleEndian(_ value: UInt32) -> [UInt8] {
    [0, 8, 16, 24].map { UInt8(truncatingIfNeeded: value >> UInt32($0)) }
}

/// CRC-32 (RFC 1952 section 8).
private func checksum(_ bytes: [UInt8]) -> UInt32 {
    var sum: UInt32 = 0xffff_ffff
    for byte in bytes { sum = table[Int((sum ^ UInt32(byte)) & 255)] ^ sum >> 8 }
    return ~sum
}

private let table: [UInt32] = (0..<256).map { index in
    (0..<8).reduce(UInt32(index)) { sum, _ in sum & 1 == 1 ? 0xedb8_8320 ^ sum >> 1 : sum >> 1 }
}

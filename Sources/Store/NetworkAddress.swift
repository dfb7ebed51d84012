import Turnstone

/// The part of an address that one caller cannot choose: all of IPv4, the first 64 bits of IPv6.
func network(of address: String) -> String {
    let isMapped = address.utf8.contains(UInt8(ascii: "."))
    guard address.utf8.contains(UInt8(ascii: ":")) else { return address }
    let words = address.utf8.split(
        separator: UInt8(ascii: ":"), omittingEmptySubsequences: false
    ).map { String(decoding: Array($0), as: UTF8.self) }
    if isMapped { return words.last ?? address }
    var groups: [String] = []
    // `::` stands for as many zeros as are missing.
    for (place, word) in words.enumerated() {
        if word.isEmpty, place > 0, place < words.count - 1 {
            let missing = 8 - words.count { !$0.isEmpty }
            groups += [String](repeating: "0000", count: max(0, missing))
        } else if !word.isEmpty {
            let number = Int(word, radix: 16) ?? 0
            groups.append(
                hex([UInt8(truncatingIfNeeded: number >> 8), UInt8(truncatingIfNeeded: number)]))
        }
    }
    return groups.prefix(4).joined(separator: ":") + "::"
}

/// The id that APNs gave a broadcast channel.
///
/// Apple: *Sending channel management requests to APNs*.
package struct ChannelID: Hashable, Sendable {
    /// Base64 with padding, as APNs writes it.
    package let text: String

    /// - Parameter text: base64 of either alphabet, with or without padding (RFC 4648 sections 4 and 5), so
    ///   that it can be part of a path. At most 256 characters.
    package init?(_ text: String) {
        var letters = Array(text.utf8)
        guard letters.count <= 256 else { return nil }
        var padding = 0
        while letters.last == UInt8(ascii: "="), padding < 2 {
            letters.removeLast()
            padding += 1
        }
        let missing = (4 - letters.count % 4) % 4
        guard !letters.isEmpty, missing != 3, padding == 0 || padding == missing else { return nil }
        for (place, letter) in letters.enumerated() {
            guard let standard = standardLetter(letter) else { return nil }
            letters[place] = standard
        }
        letters += [UInt8](repeating: UInt8(ascii: "="), count: missing)
        self.text = String(decoding: letters, as: UTF8.self)
    }
}

/// The corresponding character of the standard base64 alphabet.
private func standardLetter(_ letter: UInt8) -> UInt8? {
    switch letter {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"):
        letter
    case UInt8(ascii: "-"): UInt8(ascii: "+")
    case UInt8(ascii: "_"): UInt8(ascii: "/")
    default: nil
    }
}

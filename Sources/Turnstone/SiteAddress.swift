/// The address of a web site, such as `https://online-go.com`. The host may be followed by a path; a query, a
/// fragment or credentials are not allowed.
package struct SiteAddress: Hashable, Sendable {
    /// Without a slash at the end.
    package let text: String

    package static let onlineGo = SiteAddress(known: "https://online-go.com")

    private init(known text: String) { self.text = text }

    package init?(_ text: String) {
        let bytes = Array(text.utf8)
        let scheme = ["https://", "http://"].first { bytes.starts(with: $0.utf8) }
        guard let scheme, let host = bytes.dropFirst(scheme.utf8.count).first,
            host != UInt8(ascii: "/"), host != UInt8(ascii: ":"), bytes.allSatisfy(isPlain)
        else { return nil }
        self.text = bytes.last == UInt8(ascii: "/") ? String(text.dropLast()) : text
    }
}

/// Whether a byte stands for itself in an address or begins an escape (RFC 3986 section 2).
private func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "?"), UInt8(ascii: "#"), UInt8(ascii: "@"), UInt8(ascii: "\""),
        UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "\\"), UInt8(ascii: "^"),
        UInt8(ascii: "`"), UInt8(ascii: "{"), UInt8(ascii: "|"), UInt8(ascii: "}"):
        false
    default: byte > 0x20 && byte < 0x7f
    }
}

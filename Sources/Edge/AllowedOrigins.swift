import Turnstone

/// The web origins in `ALLOWED_ORIGINS`, whose pages may call with a cookie and read the answers (CORS).
package struct AllowedOrigins {
    /// In lower case, as browsers send them.
    private let origins: [String]

    /// - Throws: misconfigured if an entry is not an origin. `*` and `null` are not: with them, anybody's
    ///   page could act as the user. The sentence does not repeat the entry: the value may be another variable's.
    @export(interface)
    package init(_ variables: Variables) throws(Failure) {
        let name = "ALLOWED_ORIGINS"
        let texts = (variables.text(name) ?? "").utf8
            .split { $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: " ") }
            .map { lowercased(trimmed(String(decoding: Array($0), as: UTF8.self))) }
        if let place = texts.firstIndex(where: { !isOrigin($0) }) {
            throw variables.wrong(
                name,
                "entry \(place + 1) is not an origin. List origins such as https://app.example.org, without a path or a final /, separated by commas"
            )
        }
        origins = texts
    }

    package var isEmpty: Bool { origins.isEmpty }

    package func contains(_ origin: String) -> Bool { origins.contains(origin) }
}

/// Whether a text has the form of an origin (RFC 6454 section 6.2): a scheme, a host and perhaps a port.
private func isOrigin(_ text: String) -> Bool {
    let scheme = text.utf8.prefix { $0 != UInt8(ascii: ":") }
    let rest = text.utf8.dropFirst(scheme.count)
    let host = rest.dropFirst(3)
    return !scheme.isEmpty && scheme.allSatisfy(isSchemeCharacter)
        && rest.starts(with: "://".utf8) && !host.isEmpty && host.allSatisfy(isHostCharacter)
}

private func isSchemeCharacter(_ byte: UInt8) -> Bool {
    isLetterOrDigit(byte) || "+-.".utf8.contains(byte)
}

/// `[` and `]` enclose an IPv6 address.
private func isHostCharacter(_ byte: UInt8) -> Bool {
    isLetterOrDigit(byte) || "-._:[]".utf8.contains(byte)
}

private func isLetterOrDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
        || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
}

/// The address of a browser's subscription at its push service: an https URL that only the push service
/// understands (RFC 8030 section 4). It is as good as a key to the browser.
package struct PushEndpoint: Hashable, Sendable {
    /// The whole address, with the scheme and the host in lower case and without port 443.
    package let text: String
    /// The host's name in lower case, or its number; a number of version 6 without brackets.
    package let host: String
    package let port: UInt16
    /// The path with the query.
    package let path: String

    /// The longest endpoint, in bytes. Those of today's push services have 100 to 700.
    package static let limit = 2048

    /// Why a text is no endpoint: what it must be.
    package enum Fault: String, Error, Sendable {
        case tooLong = "must have at most 2048 bytes"
        case notSecure = "must begin with https://"
        case hasUser = "must not name a user"
        case hasFragment = "must not have a fragment (#)"
        case notAddress = "must be an https address such as the browser gives"
    }

    package init(_ address: String) throws(Fault) { try self.init(Array(address.utf8)[...]) }

    init(_ bytes: ArraySlice<UInt8>) throws(Fault) {
        guard bytes.count <= Self.limit else { throw .tooLong }
        let scheme = "https://".utf8
        guard bytes.count > scheme.count,
            bytes.prefix(scheme.count).elementsEqual(scheme)
                || lowercase(bytes.prefix(scheme.count)).elementsEqual(scheme)
        else { throw .notSecure }
        guard bytes.allSatisfy(isURLByte) else { throw .notAddress }
        guard !bytes.contains(UInt8(ascii: "#")) else { throw .hasFragment }
        let rest = bytes.dropFirst(scheme.count)
        let end = rest.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") }
        let authority = rest[..<(end ?? rest.endIndex)]
        guard !authority.contains(UInt8(ascii: "@")) else { throw .hasUser }
        guard let site = HostAndPort(authority), !site.isPattern else { throw .notAddress }
        host = site.host
        port = site.port ?? 443
        let tail = String(decoding: rest[(end ?? rest.endIndex)...], as: UTF8.self)
        path = tail.utf8.first == UInt8(ascii: "/") ? tail : "/" + tail
        text = "https://" + authorityText(host, port) + path
    }

    /// The origin (RFC 6454 section 6.2), which a VAPID token names as its audience.
    package var origin: String { "https://" + authorityText(host, port) }
}

extension PushEndpoint: CustomStringConvertible {
    /// The origin. A whole endpoint in a log would let its readers push to the browser.
    package var description: String { "\(origin)/…" }
}

/// Printable ASCII without the characters that RFC 3986 allows nowhere in a URL.
private func isURLByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "\\"),
        UInt8(ascii: "^"), UInt8(ascii: "`"), UInt8(ascii: "{"), UInt8(ascii: "|"),
        UInt8(ascii: "}"):
        false
    default: byte > 0x20 && byte < 0x7f
    }
}

import Turnstone

/// Decodes the path of a request target (RFC 9112 section 3.2) into its segments. An encoded slash stays
/// within its segment.
///
/// - Throws: malformed if it is ambiguous: bad percent-encoding, NUL, dot segments, or bytes that are not
///   UTF-8.
func path(ofTarget target: String) throws(Failure) -> [String] {
    let raw = encodedPath(ofTarget: target)
    guard raw.utf8.first == UInt8(ascii: "/") else {
        throw .malformed(
            target.isEmpty
                ? "the request has no path; a CGI host must set REQUEST_URI"
                : "the path must begin with /")
    }
    var path: [String] = []
    for segment in segments(of: raw) {
        guard let decoded = percentDecoded(segment) else {
            throw .malformed(
                """
                the path is malformed: % must come with two hex digits, and the text must be UTF-8 \
                without NUL
                """
            )
        }
        guard decoded != ".", decoded != ".." else {
            throw .malformed("the path must not have . or .. between slashes")
        }
        path.append(decoded)
    }
    return path
}

/// The path of a request target as it was sent, percent-encoded.
func encodedPath(ofTarget target: String) -> String {
    var bytes = Array(target.utf8)[...]
    if let scheme = schemeEnd(bytes) {
        bytes = bytes[scheme...].drop { $0 != UInt8(ascii: "/") }
    }
    let end = bytes.firstIndex { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }
    return String(decoding: bytes[..<(end ?? bytes.endIndex)], as: UTF8.self)
}

/// The part of a target after its question mark.
func query(ofTarget target: String) -> String {
    let rest = target.utf8.drop { $0 != UInt8(ascii: "?") }.dropFirst()
    return String(decoding: Array(rest.prefix { $0 != UInt8(ascii: "#") }), as: UTF8.self)
}

/// The offset of the authority in an absolute-form target; `nil` in other forms.
private func schemeEnd(_ bytes: ArraySlice<UInt8>) -> Int? {
    for scheme in ["http://", "https://"] where bytes.starts(with: scheme.utf8) {
        return scheme.utf8.count
    }
    return nil
}

/// The parts of a path between slashes, including empty ones.
func segments(of path: String) -> [String] {
    path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).dropFirst()
        .map { String(decoding: $0, as: UTF8.self) }
}

/// A whole HTTP/1.1 answer (RFC 9112).
struct HTTPAnswer {
    let status: Int
    private let fields: [(name: String, value: String)]
    let body: [UInt8]

    /// - Parameter bytes: all that came before the connection was closed.
    /// - Returns: `nil` where that is something else, or only a part.
    init?(_ bytes: [UInt8]) {
        var rest = Lines(bytes[...])
        guard let line = rest.next() else { return nil }
        let words = line.split(separator: UInt8(ascii: " "), maxSplits: 2).map { text($0) }
        guard words.count >= 2, words[0] == "HTTP/1.1", words[1].utf8.count == 3,
            let status = Int(words[1])
        else { return nil }
        var fields: [(name: String, value: String)] = []
        while true {
            guard let line = rest.next() else { return nil }
            if line.isEmpty { break }
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return nil }
            fields.append((small(line[..<colon]), trimmed(line[(colon + 1)...])))
        }
        guard let body = decoded(rest.bytes, fields) else { return nil }
        self.status = status
        self.fields = fields
        self.body = body
    }

    /// - Parameter name: in lower case.
    func header(_ name: String) -> String? { value(of: name, in: fields) }
}

/// A body as its header fields frame it: in chunks, of a length, or up to the connection's end.
private func decoded(
    _ bytes: ArraySlice<UInt8>, _ fields: [(name: String, value: String)]
) -> [UInt8]? {
    if let coding = value(of: "transfer-encoding", in: fields) {
        return small(coding.utf8) == "chunked" ? unchunked(bytes) : nil
    }
    guard let length = value(of: "content-length", in: fields) else { return Array(bytes) }
    return Int(length) == bytes.count ? Array(bytes) : nil
}

/// RFC 9112 section 7.1, extensions and trailers dropped.
private func unchunked(_ bytes: ArraySlice<UInt8>) -> [UInt8]? {
    var body: [UInt8] = []
    var rest = Lines(bytes)
    while let line = rest.next() {
        let digits = line.prefix { $0 != UInt8(ascii: ";") && $0 != UInt8(ascii: " ") }
        guard digits.count <= 8, let size = Int(text(digits), radix: 16), size >= 0 else {
            return nil
        }
        if size == 0 { return body }
        guard rest.bytes.count >= size else { return nil }
        body += rest.bytes.prefix(size)
        rest = Lines(rest.bytes.dropFirst(size))
        guard rest.next()?.isEmpty == true else { return nil }
    }
    return nil
}

/// Lines that end with CRLF, and what follows them.
private struct Lines {
    private(set) var bytes: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes }

    /// The next line without its end, if it has one.
    mutating func next() -> ArraySlice<UInt8>? {
        guard let end = bytes.firstIndex(of: 10), end > bytes.startIndex, bytes[end - 1] == 13
        else { return nil }
        defer { bytes = bytes[(end + 1)...] }
        return bytes[..<(end - 1)]
    }
}

private func value(of name: String, in fields: [(name: String, value: String)]) -> String? {
    fields.first { $0.name == name }?.value
}

private func text(_ bytes: ArraySlice<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }

/// The text with ASCII's capitals made small.
private func small(_ bytes: some Sequence<UInt8>) -> String {
    let small = bytes.map { (65...90).contains($0) ? $0 | 0x20 : $0 }
    return String(decoding: small, as: UTF8.self)
}

private func trimmed(_ bytes: ArraySlice<UInt8>) -> String {
    var bytes = bytes.drop { $0 == 32 || $0 == 9 }
    while let last = bytes.last, last == 32 || last == 9 { bytes.removeLast() }
    return text(bytes)
}

/// A host's name with an optional port, such as `push.example.org`, `127.0.0.1:8443` or `[::1]:8443`; in
/// lists of hosts also `*.example.org` or `.example.org`, which stand for all names below `example.org`.
package struct HostAndPort: Hashable, Sendable {
    /// In lower case, without brackets, and without the mark of a pattern.
    package let host: String
    package let port: UInt16?
    /// Whether it stands for the names below `host`.
    package let isPattern: Bool

    package init?(_ text: String) { self.init(Array(text.utf8)[...]) }

    init?(_ text: ArraySlice<UInt8>) {
        var rest = text
        if rest.first == UInt8(ascii: "[") {
            guard let end = rest.firstIndex(of: UInt8(ascii: "]")) else { return nil }
            let number = rest[(rest.startIndex + 1)..<end]
            let isNumber = number.allSatisfy {
                hexValue($0) != nil || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: ".")
            }
            guard isNumber, number.contains(UInt8(ascii: ":")), number.count <= 45 else {
                return nil
            }
            isPattern = false
            host = String(decoding: lowercase(number), as: UTF8.self)
            rest = rest[(end + 1)...]
        } else {
            var name = rest.prefix { $0 != UInt8(ascii: ":") }
            rest = rest[name.endIndex...]
            if name.starts(with: "*.".utf8) { name.removeFirst() }
            isPattern = name.first == UInt8(ascii: ".")
            if isPattern { name.removeFirst() }
            guard isHostName(name) else { return nil }
            host = String(decoding: lowercase(name), as: UTF8.self)
        }
        guard !rest.isEmpty else {
            port = nil
            return
        }
        let digits = String(decoding: Array(rest.dropFirst()), as: UTF8.self)
        guard rest.first == UInt8(ascii: ":"), let port = UInt16(digits), port > 0,
            String(port) == digits
        else { return nil }
        self.port = port
    }

    /// Whether an endpoint is at this host. Without a port it must be at port 443.
    package func matches(_ endpoint: PushEndpoint) -> Bool {
        guard endpoint.port == port ?? 443 else { return false }
        guard isPattern else { return endpoint.host == host }
        let name = Array(endpoint.host.utf8)
        let suffix = Array(".\(host)".utf8)
        return name.count > suffix.count && name.suffix(suffix.count).elementsEqual(suffix)
    }
}

/// A host with its port as addresses have them: a number of version 6 in brackets, and port 443 left out.
package func authorityText(_ host: String, _ port: UInt16) -> String {
    let name = host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
    return port == 443 ? name : "\(name):\(port)"
}

/// Letters, digits, `-`, `_` and dots between labels (RFC 1123 section 2.1, with the underscore that occurs).
private func isHostName(_ name: ArraySlice<UInt8>) -> Bool {
    guard (1...253).contains(name.count) else { return false }
    var length = 0
    for byte in name {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            length += 1
        case UInt8(ascii: "."):
            guard (1...63).contains(length) else { return false }
            length = 0
        default: return false
        }
    }
    return (1...63).contains(length)
}

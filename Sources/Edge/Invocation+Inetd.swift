import Turnstone
import Unix

// One HTTP/1.1 or 1.0 request on standard input (RFC 9112), one answer, then the connection ends. Ambiguous
// requests are refused, because a proxy in front of us may have read them differently (section 11.2, request
// smuggling).

extension Invocation {
    func readInetd(
        _ request: inout RawRequest, from input: inout Input, bodyLimit: Int
    ) throws(Failure) {
        let version: String
        (request, version) = try requestLine(input.readLine(limit: headerLimit))
        try readInetdFields(&request, from: &input)
        guard version == "HTTP/1.0" || request.headers.count(of: "host") == 1 else {
            throw .malformed("an HTTP/1.1 request must have exactly one Host header")
        }
        request.body = .bytes(
            try body(request.headers, version: version, from: &input, limit: bodyLimit))
        request.address = peerAddress
    }

    /// Reads the header fields after the request line, and the empty line.
    func readInetdFields(_ request: inout RawRequest, from input: inout Input) throws(Failure) {
        var left = headerLimit
        while true {
            let line = try input.readLine(limit: left)
            if line.isEmpty { return }
            left -= line.utf8.count + 2
            guard left >= 0 else { throw headersTooLarge }
            let field = try headerField(line)
            request.headers.append(field.name, field.value)
        }
    }

    /// The address of the other end, as systemd.socket(5) with `Accept=yes`, xinetd, and tcpserver and its
    /// like (UCSPI) state it in the environment.
    var peerAddress: String? {
        for wanted in ["REMOTE_ADDR", "REMOTE_HOST", "TCPREMOTEIP"] {
            for (name, value) in ThisProcess.environment where name == wanted { return value }
        }
        return nil
    }

    func requestLine(
        _ line: String
    ) throws(Failure) -> (request: RawRequest, version: String) {
        let words = line.utf8.split(separator: 32, omittingEmptySubsequences: false).map {
            String(decoding: $0, as: UTF8.self)
        }
        guard words.count == 3, words[1].utf8.allSatisfy({ $0 > 32 && $0 < 127 }),
            words[2] == "HTTP/1.1" || words[2] == "HTTP/1.0"
        else { throw .malformed("this is not an HTTP/1.1 or 1.0 request") }
        return (RawRequest(method: words[0], target: words[1]), words[2])
    }

    private func headerField(_ line: String) throws(Failure) -> (name: String, value: String) {
        let bytes = Array(line.utf8)
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), colon > 0,
            bytes[..<colon].allSatisfy(isTokenCharacter),
            bytes[colon...].allSatisfy({ $0 >= 32 || $0 == 9 })
        else { throw .malformed("a header field is malformed") }
        return (
            String(decoding: bytes[..<colon], as: UTF8.self),
            trimmed(String(decoding: bytes[(colon + 1)...], as: UTF8.self))
        )
    }

    private func body(
        _ headers: Headers, version: String, from input: inout Input, limit: Int
    ) throws(Failure) -> [UInt8] {
        let lengths = headers.count(of: "content-length")
        guard let coding = headers["transfer-encoding"] else {
            guard lengths <= 1 else {
                throw .malformed("the header content-length may come only once")
            }
            guard let text = headers["content-length"] else { return [] }
            guard let length = contentLength(text) else {
                throw .malformed("Content-Length must be a number of bytes")
            }
            guard length <= limit else { throw tooLarge(limit) }
            sendContinue(headers, version: version, length: length)
            return try input.read(length)
        }
        guard lengths == 0, version == "HTTP/1.1", lowercased(coding) == "chunked",
            headers.count(of: "transfer-encoding") == 1
        else {
            throw .malformed(
                "the body must have either Content-Length, or Transfer-Encoding: chunked and HTTP/1.1"
            )
        }
        sendContinue(headers, version: version, length: 1)
        return try chunks(from: &input, limit: limit)
    }

    /// Tells a client that waits for permission to send its body (RFC 9110 section 10.1.1).
    private func sendContinue(_ headers: Headers, version: String, length: Int) {
        guard version == "HTTP/1.1", length > 0,
            headers["expect"].map(lowercased) == "100-continue"
        else { return }
        _ = writeAnswer(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8))
    }

    /// Reads a chunked body (RFC 9112 section 7.1). Extensions and trailers are dropped.
    private func chunks(from input: inout Input, limit: Int) throws(Failure) -> [UInt8] {
        var body: [UInt8] = []
        while true {
            let line = try input.readLine(limit: 256)
            let digits = line.utf8.prefix { $0 != UInt8(ascii: ";") && $0 != 32 }
            // `Int` would accept a sign too.
            guard (1...8).contains(digits.count), digits.allSatisfy({ hexValue($0) != nil }),
                let size = Int(String(decoding: Array(digits), as: UTF8.self), radix: 16)
            else { throw .malformed("a chunk's size must be 1 to 8 hex digits") }
            guard size > 0 else { break }
            guard body.count + size <= limit else { throw tooLarge(limit) }
            body += try input.read(size)
            guard try input.read(2) == Array("\r\n".utf8) else {
                throw .malformed("a chunk is longer than its size")
            }
        }
        var left = headerLimit
        while true {
            let line = try input.readLine(limit: left)
            if line.isEmpty { return body }
            left -= line.utf8.count
        }
    }

    func writeInetd(
        _ response: Response, withoutBody: Bool, after input: inout Input
    ) -> Bool {
        let body = response.bytes
        var text = "HTTP/1.1 \(response.status) \(response.reason)\r\n"
        // A web server adds it to the other forms (RFC 9110 section 6.6.1).
        text += "Date: \(CalendarDate(.systemNow).httpText)\r\n"
        for (name, value) in response.allHeaders { text += "\(name): \(value)\r\n" }
        // A 204 has no Content-Length (RFC 9110 section 8.6).
        if response.hasBody { text += "Content-Length: \(body.count)\r\n" }
        text += "Connection: close\r\n\r\n"
        let isWritten = writeAnswer(Array(text.utf8) + (withoutBody ? [] : body))
        StandardStreams.endOutput()
        input.drain()
        return isWritten
    }
}

extension Headers {
    fileprivate func count(of name: String) -> Int {
        fields.count { $0.name == name }
    }
}

/// Whether a byte may occur in a token (RFC 9110 section 5.6.2).
func isTokenCharacter(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "a")...UInt8(ascii: "z"):
        true
    default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
    }
}

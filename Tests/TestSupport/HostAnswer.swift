import Foundation
import JSON
import Turnstone

/// An HTTP response as it left a host.
package struct HostAnswer: Sendable {
    package let status: Int
    /// Names in lower case; fields of the same name joined.
    package let headers: [String: String]
    package let body: [UInt8]

    package var json: JSONValue? { try? JSON.parse(body) }
    package var text: String { String(decoding: body, as: UTF8.self) }

    package init(_ bytes: [UInt8]) throws {
        var bytes = bytes[...]
        let interim = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)
        if bytes.starts(with: interim) { bytes = bytes.dropFirst(interim.count) }
        guard let end = bytes.firstRange(of: Array("\r\n\r\n".utf8)) else {
            throw TestFailure("no HTTP: \(String(decoding: bytes, as: UTF8.self))")
        }
        let head = String(decoding: bytes[..<end.lowerBound], as: UTF8.self)
        let lines = head.components(separatedBy: "\r\n")
        let words = lines[0].split(separator: " ", maxSplits: 2)
        guard words.count >= 2, words[0].hasPrefix("HTTP/1."), let status = Int(words[1]) else {
            throw TestFailure("no status line: \(lines[0])")
        }
        self.status = status
        headers = try Dictionary(
            lines.dropFirst().map { line in
                guard let colon = line.range(of: ":") else {
                    throw TestFailure("no header: \(line)")
                }
                return (
                    line[..<colon.lowerBound].lowercased(),
                    line[colon.upperBound...].trimmingCharacters(in: .whitespaces)
                )
            },
            uniquingKeysWith: { "\($0), \($1)" })
        let rest = Array(bytes[end.upperBound...])
        body = headers["transfer-encoding"] == "chunked" ? try dechunked(rest) : rest
    }
}

/// RFC 9112 section 7.1.
private func dechunked(_ bytes: [UInt8]) throws -> [UInt8] {
    var body: [UInt8] = []
    var rest = bytes[...]
    let lineEnd = Array("\r\n".utf8)
    while let end = rest.firstRange(of: lineEnd) {
        let digits = String(decoding: rest[..<end.lowerBound], as: UTF8.self)
        guard let size = Int(digits, radix: 16), rest.endIndex - end.upperBound >= size else {
            break
        }
        if size == 0 { return body }
        body += rest[end.upperBound..<(end.upperBound + size)]
        rest = rest[(end.upperBound + size)...].dropFirst(lineEnd.count)
    }
    throw TestFailure("the chunks do not end")
}

import Foundation
import JSON
import Turnstone

/// An endpoint's answer, read from the program's output.
package struct Answer: Sendable {
    package let status: Int
    /// Names in lower case.
    package let headers: [String: String]
    package let body: String

    /// The body as JSON; `nil` if it is not JSON.
    package var json: JSONValue? { try? JSON.parse(Array(body.utf8)) }

    /// Reads an answer to a JSON event, or a watchdog's program's.
    package init(event output: String) throws {
        guard output.hasSuffix("\n"), output.dropLast().allSatisfy({ $0 != "\n" }),
            let answer = try? JSON.parse(Array(output.utf8)).object,
            let status = answer["statusCode"]?.integer, let body = answer["body"]?.string,
            let headers = answer["headers"]?.object, answer["isBase64Encoded"]?.bool == false
        else { throw TestFailure("not one line with an answer to an event: \(output)") }
        self.status = Int(status)
        self.body = body
        self.headers = Dictionary(
            headers.members.map { ($0.name, $0.value.string ?? "") },
            uniquingKeysWith: { "\($0), \($1)" })
    }

    /// Reads a CGI program's answer (RFC 3875 section 6).
    package init(cgi output: String) throws {
        try self.init(message: output) { fields in
            fields.removeValue(forKey: "status").flatMap { Int($0.prefix(3)) }
        }
    }

    /// Reads one HTTP/1.1 response whose length is stated (RFC 9112).
    package init(http output: String) throws {
        var output = output
        let interim = "HTTP/1.1 100 Continue\r\n\r\n"
        if output.hasPrefix(interim) { output.removeFirst(interim.count) }
        guard let end = output.range(of: "\r\n") else { throw TestFailure("no HTTP: \(output)") }
        let words = output[..<end.lowerBound].split(separator: " ", maxSplits: 2)
        guard words.count == 3, words[0] == "HTTP/1.1", let status = Int(words[1]) else {
            throw TestFailure("no status line: \(output)")
        }
        try self.init(message: String(output[end.upperBound...])) { _ in status }
        if [204, 304].contains(status), headers["content-length"] == nil, body.isEmpty { return }
        guard let length = headers["content-length"].flatMap({ Int($0) }),
            headers["connection"] == "close",
            body.isEmpty || body.utf8.count == length
        else { throw TestFailure("the response's length or connection is wrong: \(output)") }
    }

    private init(
        message: String, status: (inout [String: String]) -> Int?
    ) throws {
        guard let end = message.range(of: "\r\n\r\n") else {
            throw TestFailure("no headers: \(message)")
        }
        var fields: [String: String] = [:]
        for line in message[..<end.lowerBound].components(separatedBy: "\r\n") {
            guard let colon = line.range(of: ": ") else { throw TestFailure("no header: \(line)") }
            let name = line[..<colon.lowerBound].lowercased()
            guard fields.updateValue(String(line[colon.upperBound...]), forKey: name) == nil else {
                throw TestFailure("the header \(name) comes twice")
            }
        }
        guard let status = status(&fields) else { throw TestFailure("no status: \(message)") }
        self.status = status
        headers = fields
        body = String(message[end.upperBound...])
    }
}

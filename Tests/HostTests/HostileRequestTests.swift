import Foundation
import JSON
import TestSupport
import Testing
import Turnstone

/// Hostile requests, byte by byte. Each host gets the same ones and must answer with the stated status,
/// except for the differences in ``HostDifferences``. Nothing is written unless the status is 200.
@Suite struct HostileRequestTests {
    @Test("a host and our programs agree", arguments: Host.testable)
    func requests(host: Host) throws {
        let site = try Site(host)
        for row in Row.all {
            try Installed.player(at: site)
            let before = site.documents
            let answer = try site.answer(row.bytes, from: row.program)
            let expected = HostDifferences.status(
                of: row.name, at: host, elsewhere: row.status)
            #expect(answer.status == expected, "\(host) \(row.name): \(answer.text)")
            if answer.status == 405 {
                #expect(answer.headers["allow"] != nil, "\(host) \(row.name)")
            }
            if answer.status != 200 {
                #expect(site.documents == before, "\(host) \(row.name)")
            }
            #expect(!answer.text.contains(Installed.key), "\(host) \(row.name)")
        }
    }

    @Test("eight phones at once are all registered", arguments: Host.testable)
    func atOnce(host: Host) throws {
        let site = try Site(host)
        try Installed.player(at: site)
        let tokens = (0..<8).map { String(repeating: "\($0)", count: 64) }
        let connections = try tokens.map { token in
            let connection = try site.connect(to: "register")
            connection.send(Installed.registration(token).bytes)
            return connection
        }
        for connection in connections {
            #expect(try HostAnswer(connection.receive()).status == 200, "\(host)")
        }
        let user = try JSON.parse(site.state.read("users/eb/1783478.json") ?? [])
        let devices = user.object?["devices"]?.array ?? []
        #expect(Set(devices.compactMap { $0.object?["token"]?.string }) == Set(tokens), "\(host)")
    }
}

/// A request, byte by byte, and its answer's status.
private struct Row {
    let name: String
    let program: String
    let bytes: [UInt8]
    let status: Int

    init(
        _ name: String, to program: String = "register", _ head: String, body: String = "",
        is status: Int
    ) {
        self.name = name
        self.program = program
        let head = head.replacing("{K}", with: "X-API-Key: \(Installed.key)\n")
        bytes =
            Array(
                (head + "Host: localhost\nConnection: close\n\n").replacing("\n", with: "\r\n").utf8
            )
            + Array(body.utf8)
        self.status = status
    }

    private static let body = Installed.body(Installed.token)
    private static let length = "Content-Length: \(body.utf8.count)\n"
    private static let chunks = body.map { "1\r\n\($0)\r\n" }.joined() + "0\r\n\r\n"
    private static let large = String(repeating: " ", count: 70_000)
    private static let asking = "GET /users-by-token/\(Installed.token) HTTP/1.1\n"

    static let all = [
        Row("a good one", "POST /register HTTP/1.1\n{K}\(length)", body: body, is: 200),
        Row(
            "HTTP/1.0", "POST /register HTTP/1.0\n{K}\(length)", body: body, is: 200),
        Row(
            "chunks", "POST /register HTTP/1.1\n{K}Transfer-Encoding: chunked\n", body: chunks,
            is: 200),
        Row(
            "a length and chunks",
            "POST /register HTTP/1.1\n{K}\(length)Transfer-Encoding: chunked\n", body: chunks,
            is: 400),
        Row(
            "two lengths", "POST /register HTTP/1.1\n{K}\(length)Content-Length: 3\n", body: body,
            is: 400),
        Row(
            "a length that is none", "POST /register HTTP/1.1\n{K}Content-Length: -1\n", body: body,
            is: 400),
        Row(
            "a large body", "POST /register HTTP/1.1\n{K}Content-Length: \(large.utf8.count)\n",
            body: large, is: 413),
        Row(
            "a large body in chunks",
            "POST /register HTTP/1.1\n{K}Transfer-Encoding: chunked\n",
            body: "11170\r\n\(large)\r\n0\r\n\r\n", is: 413),
        Row(
            "an encoded slash", to: "diagnostics", "GET /diagnostics/8086%2F8086 HTTP/1.1\n{K}",
            is: 400),
        Row(
            "an encoded slash between segments", to: "users-by-token",
            "GET /users-by-token%2F\(Installed.token) HTTP/1.1\n{K}", is: 404),
        Row(
            "an encoded NUL", to: "users-by-token", "GET /users-by-token/80%00 HTTP/1.1\n{K}",
            is: 400),
        Row(
            "encoded dots", to: "users-by-token", "GET /users-by-token/%2e%2e HTTP/1.1\n{K}",
            is: 400),
        Row(
            "a way up", to: "users-by-token", "GET /users-by-token/../../etc/passwd HTTP/1.1\n{K}",
            is: 400),
        Row(
            "a credential twice", to: "users-by-token", "\(asking){K}{K}", is: 400),
        Row(
            "a key beside the key", to: "users-by-token",
            "\(asking){K}X_API_Key: \(Installed.key)\n", is: 200),
        Row(
            "a proxy", to: "users-by-token", "\(asking){K}Proxy: http://127.0.0.1:1\n", is: 200),
        Row(
            "arguments for the program", to: "users-by-token",
            asking.replacing(" HTTP", with: "?--help+-x HTTP") + "{K}", is: 200),
        Row("a wrong method", "PUT /register HTTP/1.1\n{K}\(length)", body: body, is: 405),
        Row(
            "a method of our own", "BREW /register HTTP/1.1\n{K}\(length)", body: body, is: 405),
        Row(
            "large headers", to: "users-by-token",
            asking + "{K}"
                + (0..<5).map { "X-\($0): \(String(repeating: "x", count: 4_000))\n" }.joined(),
            is: 431),
    ]
}

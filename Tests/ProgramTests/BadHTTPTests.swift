import TestSupport
import Testing

/// Raw requests that could be read in two ways, or in none.
///
/// `Endpoint.filled` explains the templates.
@Suite struct BadHTTPTests {
    static let requests =
        [
            Bad("nothing", ""),
            Bad("empty lines", "\r\n\r\n"),
            Bad("a line that ends too soon", "{M} {P}"),
            Bad("headers that end too soon", "{M} {P} HTTP/1.1\r\nHost: a\r\n{K}"),
            Bad("a method without a path", "{M}\r\n\r\n"),
            Bad("HTTP/0.9", "{M} {P}\r\n\r\n"),
            Bad("HTTP/2's preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
            Bad("TLS", "\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\u{0}\u{1}\u{FC}\u{3}\u{3}"),
            Bad("zeros", String(repeating: "\0", count: 4096)),
            Bad("a line of 100 kB", String(repeating: "A", count: 100_000), 431),
            Bad("two spaces", "{M}  {P} HTTP/1.1\r\nHost: a\r\n{K}\r\n"),
            Bad("a fourth word", "{M} {P} HTTP/1.1 x\r\nHost: a\r\n{K}\r\n"),
            Bad("a version of small letters", "{M} {P} http/1.1\r\nHost: a\r\n{K}\r\n"),
            Bad("a NUL in the method", "{M}\0 {P} HTTP/1.1\r\nHost: a\r\n{K}\r\n"),
            Bad("a method of small letters", "get {P} HTTP/1.1\r\nHost: a\r\n{K}\r\n", 405),
            Bad("an unknown method", "BREW {P} HTTP/1.1\r\nHost: a\r\n{K}\r\n", 405),
            Bad("TRACE", "TRACE {P} HTTP/1.1\r\nHost: a\r\n{K}\r\n", 405),
            Bad("no host", "{M} {P} HTTP/1.1\r\n{K}\r\n"),
            Bad("two hosts", "{M} {P} HTTP/1.1\r\nHost: a\r\nHost: b\r\n{K}\r\n"),
            Bad("a header without a colon", "{M} {P} HTTP/1.1\r\nHost: a\r\nX-Nothing\r\n{K}\r\n"),
            Bad("a header without a name", "{M} {P} HTTP/1.1\r\nHost: a\r\n: x\r\n{K}\r\n"),
            Bad("a blank before the colon", "{M} {P} HTTP/1.1\r\nHost : a\r\n{K}\r\n"),
            Bad("a folded header", "{M} {P} HTTP/1.1\r\nHost: a\r\nX-A: b\r\n c\r\n{K}\r\n"),
            Bad("a NUL in a header", "{M} {P} HTTP/1.1\r\nHost: a\r\nX-A: b\0\r\n{K}\r\n"),
            Bad(
                "a bare CR in a header", "{M} {P} HTTP/1.1\r\nHost: a\r\nX-A: b\rX-B: c\r\n{K}\r\n"),
            Bad(
                "a header of 20 kB",
                "{M} {P} HTTP/1.1\r\nHost: a\r\n{K}X-A: \(String(repeating: "b", count: 20_000))\r\n\r\n",
                431),
            Bad(
                "3000 headers",
                "{M} {P} HTTP/1.1\r\nHost: a\r\n{K}\(String(repeating: "X-A: b\r\n", count: 3000))\r\n",
                431),
            Bad(
                "a negative length", "{M} {P} HTTP/1.1\r\nHost: a\r\n{K}Content-Length: -1\r\n\r\n"),
            Bad(
                "a length with a sign",
                "{M} {P} HTTP/1.1\r\nHost: a\r\n{K}Content-Length: +2\r\n\r\n{}"),
            Bad(
                "a length in hex", "{M} {P} HTTP/1.1\r\nHost: a\r\n{K}Content-Length: 0x2\r\n\r\n{}"
            ),
            Bad("an empty length", "{M} {P} HTTP/1.1\r\nHost: a\r\n{K}Content-Length: \r\n\r\n"),
            Bad(
                "a length beyond 64 bits",
                "{M} {P} HTTP/1.1\r\nHost: a\r\n{K}Content-Length: 99999999999999999999\r\n\r\n"),
            Bad(
                "a length of 8 EiB",
                "{M} {P} HTTP/1.1\r\nHost: a\r\n{K}Content-Length: 9223372036854775807\r\n\r\n", 413
            ),
            Bad(
                "a body cut short",
                "{M} {P} HTTP/1.1\r\nHost: a\r\n{K}Content-Length: 9\r\n\r\n{\"a\""),
            Bad(
                "two lengths",
                "{M} {P} HTTP/1.1\r\nHost: a\r\n{K}Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}"
            ),
            Bad(
                "a length and chunks",
                "{M} {P} HTTP/1.1\r\nHost: a\r\n{K}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n"
                    + "0\r\n\r\n"),
            Bad(
                "chunks in HTTP/1.0",
                "{M} {P} HTTP/1.0\r\n{K}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
            Bad(
                "two codings",
                "{M} {P} HTTP/1.1\r\nHost: a\r\n{K}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"
            ),
        ] + chunks + paths

    private static let chunks = [
        ("a negative chunk", "-1\r\n"), ("a chunk without a size", "\r\n"),
        ("a chunk's size with a sign", "+2\r\n{}\r\n0\r\n\r\n"),
        ("a last chunk's size with a sign", "2\r\n{}\r\n-0\r\n\r\n"),
        ("a chunk beyond 64 bits", "FFFFFFFFFFFFFFFFF\r\n"), ("a chunk that is no hex", "xyz\r\n"),
        ("a chunk longer than its size", "2\r\n{}}\r\n0\r\n\r\n"), ("a chunk cut short", "9\r\n{}"),
        ("no last chunk", "2\r\n{}\r\n"), ("trailers cut short", "2\r\n{}\r\n0\r\nX: y\r\n"),
    ].map { name, chunks in
        Bad(name, "{M} {P} HTTP/1.1\r\nHost: a\r\n{K}Transfer-Encoding: chunked\r\n\r\n\(chunks)")
    }

    private static let paths =
        BadPath.all.map { path in
            Bad(path.name, "{M} \(path.text) HTTP/1.1\r\nHost: a\r\n{K}\r\n", path.status)
        } + [
            Bad("bytes beyond ASCII in a path", "{M} {P}\u{F8FF} HTTP/1.1\r\nHost: a\r\n{K}\r\n")
        ]

    @Test("a malformed request is refused", arguments: Endpoint.all, requests)
    func request(endpoint: Endpoint, bad: Bad) throws {
        let input = endpoint.filled(bad.text, credential: endpoint.headerLine)
        try Attempt(endpoint: endpoint, front: .http, input: input).expect(bad.status)
    }

    @Test("chunks of more than a program takes are refused", arguments: Endpoint.all)
    func endlessChunks(endpoint: Endpoint) throws {
        let chunk = "1000\r\n\(String(repeating: " ", count: 4096))\r\n"
        let text =
            "{M} {P} HTTP/1.1\r\nHost: a\r\n{K}Transfer-Encoding: chunked\r\n\r\n"
            + String(repeating: chunk, count: endpoint.bodyLimit / 4096 + 1)
        let input = endpoint.filled(text, credential: endpoint.headerLine)
        try Attempt(endpoint: endpoint, front: .http, input: input).expect(413)
    }

    @Test("a doubled credential is refused", arguments: Endpoint.withCredential)
    func doubled(endpoint: Endpoint) throws {
        let text = "{M} {P} HTTP/1.1\r\nHost: a\r\n{K}{K}\r\n"
        let input = endpoint.filled(text, credential: endpoint.headerLine)
        try Attempt(endpoint: endpoint, front: .http, input: input).expect(400)
    }
}

/// Paths that lead elsewhere, or nowhere.
enum BadPath {
    static let all = [
        Bad("no path", "*"), Bad("an authority", "push.example.org:443"),
        Bad("a path without a slash", "health"),
        Bad("an absolute target without a path", "http://a"),
        Bad("a dot segment", "/x/..{P}"), Bad("an encoded dot segment", "/x/%2e%2E{P}"),
        Bad("a half-encoded dot segment", "/x/.%2e{P}"), Bad("a single dot", "/.{P}"),
        Bad("a dot segment at the end", "{P}/.."), Bad("an encoded NUL", "{P}%00"),
        Bad("an encoded NUL before", "/%00{P}"), Bad("bad percent-encoding", "{P}%zz"),
        Bad("half a percent-encoding", "{P}%4"), Bad("a bare percent sign", "{P}%"),
        Bad("encoded bytes that are no UTF-8", "{P}%ff%fe"),
        Bad("an overlong encoding of a slash", "{P}%c0%af"),
        Bad("an empty segment at the end", "{P}/", 404), Bad("another word", "/x", 404),
        Bad("another path", "{P}/x/y", 404),
    ]
}

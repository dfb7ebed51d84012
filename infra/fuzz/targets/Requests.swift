import JSON
import Turnstone

@testable import Edge

/// What a CGI host passes: `NAME=VALUE` lines that end in NUL, an empty one, and the body.
@Sendable func cgi(_ bytes: [UInt8]) -> String? {
    var rest = bytes[...]
    var variables: [(name: String, value: String)] = []
    while let end = rest.firstIndex(of: 0), end > rest.startIndex {
        let entry = rest[..<end].split(separator: UInt8(ascii: "="), maxSplits: 1)
        variables.append((text(entry.first ?? []), text(entry.dropFirst().first ?? [])))
        rest = rest[(end + 1)...]
    }
    var input = Input(Array(rest.dropFirst()))
    return judged { (request) throws(Failure) in
        try Invocation.cgi.readCGI(&request, variables, from: &input, bodyLimit: bodyLimit)
    }
}

/// What a client of an inetd sends.
@Sendable func http(_ bytes: [UInt8]) -> String? {
    var input = Input(bytes)
    return judged { (request) throws(Failure) in
        try Invocation.inetd.readInetd(&request, from: &input, bodyLimit: bodyLimit)
    }
}

/// What a runner of functions, or a person, writes to a program.
@Sendable func event(_ bytes: [UInt8]) -> String? {
    var input = Input(bytes)
    return judged { (request) throws(Failure) in
        try Invocation.event.readEvent(&request, from: &input, bodyLimit: bodyLimit)
    }
}

private let bodyLimit = 1024

private func text(_ bytes: ArraySlice<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }

/// Reads the request, and all of it that a program would look at; a failure must make an answer.
private func judged(_ read: (inout RawRequest) throws(Failure) -> Void) -> String? {
    do throws(Failure) {
        var request = RawRequest()
        try read(&request)
        if case .bytes(let body) = request.body, body.count > bodyLimit {
            return "a body of \(body.count) bytes passed"
        }
        let path = try path(ofTarget: request.target)
        guard path.allSatisfy({ $0 != ".." && $0 != "." && !$0.utf8.contains(0) }) else {
            return "a path leads elsewhere"
        }
        for pattern in ["/health", "/check/{user_id}"] {
            _ = RoutePattern("GET", pattern).parameters(in: path)
        }
        _ = try request.headers.credential("x-api-key")
        _ = try request.body.value(declared: request.headers)
        return nil
    } catch {
        let answer = Response(error, in: .plain)
        let isAnswer = (400..<600).contains(answer.status) && answer.reason != "Unknown"
        guard isAnswer, (try? JSON.parse(answer.bytes)) != nil else { return "there is no answer" }
        return nil
    }
}

import Turnstone

@testable import HTTP2

/// A client's session with a server that may send anything.
///
/// The first byte says how many requests there are, and how the rest is cut into reads. Whatever comes, each
/// request has exactly one outcome in the end, and no piece of output is larger than its buffer reckons with.
@Sendable func http2(_ bytes: [UInt8]) -> String? {
    guard let plan = bytes.first, let session = try? ClientSession(ClientLimits()) else {
        return nil
    }
    var submitted = 0
    for number in 0..<Int(plan & 3) where session.submit(submitted, bodyOf: number * 20_000) {
        submitted += 1
    }
    var complaint = session.drain()
    var rest = bytes.dropFirst()
    while !rest.isEmpty, complaint == nil {
        let piece = Array(rest.prefix(1 + Int(plan >> 2) * 8))
        rest = rest.dropFirst(piece.count)
        let end = piece.withUnsafeBytes { session.receive($0) }
        complaint = session.drain()
        if end != nil || session.isDone { break }
        if session.takesRequests, session.submit(submitted, bodyOf: 1) { submitted += 1 }
    }
    _ = session.expire(now: start + session.limits.request)
    session.loseAll("the end")
    if let complaint { return complaint }
    guard session.openRequests == 0 else { return "a request is still open" }
    guard session.events.map(tag).sorted() == Array(0..<submitted) else {
        return "\(submitted) requests had these outcomes: \(session.events.map(tag))"
    }
    return nil
}

private let start = Instant(milliseconds: 0)

extension ClientSession {
    fileprivate func submit(_ tag: Int, bodyOf count: Int) -> Bool {
        var fields = HeaderFields()
        fields.append(":method", "POST")
        fields.append(":scheme", "https")
        fields.append(":authority", "localhost")
        fields.append(":path", "/3/device/\(tag)", indexed: false)
        return submit(tag: tag, fields, body: [UInt8](repeating: 65, count: count), now: start)
    }

    /// Takes what would go to the server.
    fileprivate func drain() -> String? {
        while true {
            let output = nextOutput()
            if output.isEmpty { return nil }
            if output.count > 9 + 16_384 { return "\(output.count) bytes of output in one piece" }
        }
    }
}

private func tag(_ event: ClientEvent) -> Int {
    switch event {
    case .answered(let tag, _), .refused(let tag), .lost(let tag, _): tag
    }
}

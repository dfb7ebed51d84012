import Foundation
import TestSupport

/// A change that a client, or the way to a host, makes to a good request.
struct Variant: Sendable {
    enum Outcome: Sendable {
        /// As if it had come in one piece and by itself.
        case same
        case status(Int)
        /// Refused by the first program that sees it, with a status from 400 to 499.
        case refused
    }

    let name: String
    let outcome: Outcome
    /// The pieces to send, with a pause before each except the first; `nil` if it does not apply.
    let pieces: @Sendable (HostRequest) -> [[UInt8]]?

    static let all = [
        Variant(name: "HTTP/1.0", .same) { request in
            request.bytes.replacing("HTTP/1.1\r\nHost: localhost", with: "HTTP/1.0")
        },
        Variant(name: "chunks", .same) { request in
            guard !request.body.isEmpty else { return nil }
            let chunks = [request.body.prefix(1), request.body.dropFirst()].filter { !$0.isEmpty }
                .map {
                    Array("\(String($0.count, radix: 16));a=b\r\n".utf8) + $0 + Array("\r\n".utf8)
                }
            var chunked = request
            chunked.body = []
            chunked.headers.append(("Transfer-Encoding", "chunked"))
            return chunked.bytes.replacing("Content-Length: 0\r\n", with: "") + chunks.joined()
                + Array("0\r\n\r\n".utf8)
        },
        Variant(name: "a query", .same) { request in
            request.changed { $0.target += $0.target.contains("?") ? "&--env+x" : "?--env+x" }.bytes
        },
        Variant(name: "a proxy", .same) { request in
            request.changed { $0.headers.append(("Proxy", "http://127.0.0.1:1")) }.bytes
        },
        Variant(name: "a second request behind it", .same) { request in
            request.bytes + Array("DELETE /register/x HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8)
        },
        Variant(name: "an invitation asked for", outcome: .same) { request in
            guard !request.body.isEmpty else { return nil }
            var head = request
            head.headers.append(("Expect", "100-continue"))
            return [Array(head.bytes.dropLast(head.body.count)), head.body]
        },
        Variant(name: "slowly", outcome: .same) { request in
            let bytes = request.bytes
            let size = bytes.count / 12 + 1
            return stride(from: 0, to: bytes.count, by: size).map {
                Array(bytes[$0..<min($0 + size, bytes.count)])
            }
        },
        Variant(name: "a credential twice", .status(400)) { request in
            let names = ["x-api-key", "authorization"]
            guard let field = request.headers.first(where: { names.contains($0.0.lowercased()) })
            else { return nil }
            return request.changed { $0.headers.append(field) }.bytes
        },
        Variant(name: "a long body", .same) { request in
            guard !request.body.isEmpty else { return nil }
            let blanks = [UInt8](repeating: 32, count: request.bodyLimit - request.body.count)
            return request.changed { $0.body += blanks }.bytes
        },
        Variant(name: "a large body", .status(413)) { request in
            let blanks = [UInt8](repeating: 32, count: request.bodyLimit + 1)
            return request.changed { $0.body = blanks }.bytes
        },
        Variant(name: "a method of our own", .status(405)) { request in
            request.changed { $0.method = "BREW" }.bytes
        },
        Variant(name: "an encoded slash", .refused) { request in
            // The token of an Android phone and a user's id may have one.
            let open = ["/users-by-token/", "/api/users/"]
            guard !open.contains(where: { request.target.contains($0) }) else { return nil }
            return request.changed { $0.extendPath(by: "%2Fx") }.bytes
        },
        Variant(name: "a slash more", .refused) { $0.changed { $0.extendPath(by: "/") }.bytes },
        Variant(name: "an encoded NUL", .refused) { $0.changed { $0.extendPath(by: "%00") }.bytes },
        Variant(name: "two lengths", .status(400)) { request in
            guard !request.body.isEmpty else { return nil }
            return request.changed { $0.headers.append(("Content-Length", "1")) }.bytes
        },
    ]

    init(name: String, outcome: Outcome, _ pieces: @escaping @Sendable (HostRequest) -> [[UInt8]]?)
    {
        self.name = name
        self.outcome = outcome
        self.pieces = pieces
    }

    private init(
        name: String, _ outcome: Outcome, _ bytes: @escaping @Sendable (HostRequest) -> [UInt8]?
    ) {
        self.init(name: name, outcome: outcome) { request in bytes(request).map { [$0] } }
    }
}

extension HostRequest {
    fileprivate mutating func extendPath(by text: String) {
        target.insert(contentsOf: text, at: target.firstIndex(of: "?") ?? target.endIndex)
    }

    /// The largest body that is taken, in bytes.
    fileprivate var bodyLimit: Int {
        let large = [
            "/api/notify", "/api/events", "/notifications", "/api/v1/notifications",
        ]
        let small = ["/history", "/export_events"]
        let isLarge =
            large.contains(where: target.hasPrefix) && !small.contains(where: target.hasSuffix)
        return isLarge ? 1 << 20 : 64 * 1024
    }

    fileprivate func changed(_ change: (inout HostRequest) -> Void) -> HostRequest {
        var request = self
        change(&request)
        return request
    }
}

extension [UInt8] {
    fileprivate func replacing(_ place: String, with text: String) -> [UInt8] {
        replacing(Array(place.utf8), with: Array(text.utf8))
    }
}

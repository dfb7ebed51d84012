import Foundation

/// One HTTP exchange. ``DefaultTransport`` is used unless an app brings another.
public protocol Transport: Sendable {
    /// Answers with status and body of whatever answered, also of a refusal.
    func answer(to request: HTTPRequest) async throws -> HTTPAnswer
}

/// A request as ``Transport`` gets it.
public struct HTTPRequest: Sendable {
    public var method: String
    public var url: URL
    public var headers: [String: String]
    public var body: Data?

    public init(method: String, url: URL, headers: [String: String] = [:], body: Data? = nil) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
    }
}

/// Logs show no key.
extension HTTPRequest: CustomStringConvertible, CustomReflectable {
    public var description: String { "\(method) \(url.absoluteString)" }
    public var customMirror: Mirror {
        Mirror(
            self,
            children: ["method": method, "url": url, "headers": headers.keys.sorted()])
    }
}

/// An answer as ``Transport`` gives it.
public struct HTTPAnswer: Sendable {
    public var status: Int
    /// By name in lower case.
    public var headers: [String: String]
    public var body: Data

    public init(status: Int, headers: [String: String] = [:], body: Data = Data()) {
        self.status = status
        self.headers = Dictionary(
            headers.map { ($0.key.lowercased(), $0.value) }, uniquingKeysWith: { first, _ in first }
        )
        self.body = body
    }
}

extension HTTPAnswer {
    /// More bytes than the longest answer of an installation has: a report on 10,000 devices.
    static let longestBody = 32 << 20
}

#if os(Linux)
    public typealias DefaultTransport = CurlTransport
#else
    public typealias DefaultTransport = URLSessionTransport
#endif

/// Why an exchange brought no answer.
struct Obstacle: LocalizedError {
    let errorDescription: String?

    init(_ sentence: String) { errorDescription = sentence }
}

extension TurnstoneError {
    static var tooLong: TurnstoneError {
        .unexpected("the answer is longer than any of an installation")
    }
}

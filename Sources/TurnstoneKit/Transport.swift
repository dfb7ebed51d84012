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

    /// - Parameter headers: in any case. If names differ only in case, the first in ASCII order wins.
    public init(status: Int, headers: [String: String] = [:], body: Data = Data()) {
        self.status = status
        self.headers = Dictionary(
            headers.sorted { $0.key < $1.key }.map { ($0.key.lowercased(), $0.value) },
            uniquingKeysWith: { first, _ in first })
        self.body = body
    }
}

extension HTTPAnswer {
    /// More bytes than the longest answer of an installation has: a report on 10,000 devices.
    static let longestBody = 32 << 20
}

#if os(Linux)
    /// What a client sends by unless it is given another transport. From its first exchange on, each has a thread, two
    /// descriptors, and one more for each open connection (at most 16 to a host). A program with many clients gives
    /// them the same one.
    public typealias DefaultTransport = CurlTransport
#else
    /// What a client sends by unless it is given another transport. Each has connections of its own. A program with
    /// many clients gives them the same one.
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

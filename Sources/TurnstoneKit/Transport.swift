import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// One HTTP exchange. `URLSession` is used unless an app brings another.
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

/// `URLSession`, without a cache and without cookies: keys are sent, and answers are the caller's own.
public struct URLSessionTransport: Transport {
    private let session: URLSession

    /// - Parameter timeout: of one exchange, in seconds. The programs themselves give up after ten.
    public init(timeout: Double = 20) {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = timeout
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        configuration.httpShouldSetCookies = false
        configuration.httpCookieAcceptPolicy = .never
        session = URLSession(configuration: configuration)
    }

    public init(_ session: URLSession) { self.session = session }

    public func answer(to request: HTTPRequest) async throws -> HTTPAnswer {
        var own = URLRequest(url: request.url)
        own.httpMethod = request.method
        own.httpBody = request.body
        for (name, value) in request.headers { own.setValue(value, forHTTPHeaderField: name) }
        let (body, response) = try await session.data(for: own)
        guard let response = response as? HTTPURLResponse else {
            throw URLError(.badServerResponse)
        }
        var headers: [String: String] = [:]
        for (name, value) in response.allHeaderFields {
            guard let name = name as? String, let value = value as? String else { continue }
            headers[name] = value
        }
        return HTTPAnswer(status: response.statusCode, headers: headers, body: body)
    }
}

import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// `URLSession`, without a cache and without cookies: keys are sent, and answers are the caller's own.
///
/// It follows no redirect, because the keys would go with it, and answers no challenge: both are answers like
/// others. It is for Apple's systems; on Linux, some malformed answers make Foundation end the process.
public struct URLSessionTransport: Transport {
    private let session: Session

    /// - Parameters:
    ///   - timeout: of one exchange, from the call to the last byte of the answer, in seconds, at most a day.
    ///     The programs themselves give up after ten.
    ///   - configuration: for instance with an app's own proxy. Its cache and its cookies are not used.
    public init(timeout: Double = 20, configuration: URLSessionConfiguration = .ephemeral) {
        session = Session(configuration, timeout: max(0.001, min(timeout, 86_400)))
    }

    public func answer(to request: HTTPRequest) async throws -> HTTPAnswer {
        var own = URLRequest(url: request.url)
        own.httpMethod = request.method
        own.httpBody = request.body
        for (name, value) in request.headers { own.setValue(value, forHTTPHeaderField: name) }
        return try await session.answer(to: own)
    }
}

/// A session that ends with the transport that it belongs to.
private final class Session: Sendable {
    private let session: URLSession
    private let exchanges = Exchanges()
    private let timeout: Double

    init(_ configuration: URLSessionConfiguration, timeout: Double) {
        let configuration = configuration.copy() as? URLSessionConfiguration ?? .ephemeral
        // Longer than the exchange may take: this one is of the pauses within it.
        configuration.timeoutIntervalForRequest = timeout + 60
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        configuration.urlCache = nil
        configuration.httpShouldSetCookies = false
        configuration.httpCookieAcceptPolicy = .never
        session = URLSession(configuration: configuration, delegate: exchanges, delegateQueue: nil)
        self.timeout = timeout
    }

    deinit { session.finishTasksAndInvalidate() }

    func answer(to request: URLRequest) async throws -> HTTPAnswer {
        let task = session.dataTask(with: request)
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                exchanges.begin(task, within: timeout, continuation)
                // A task that was cancelled before this one was known would wait until its deadline.
                if Task.isCancelled { exchanges.end(task, .failure(CancellationError())) }
            }
        } onCancel: {
            exchanges.end(task, .failure(CancellationError()))
        }
    }
}

/// The exchanges of a session that go on, each with what has arrived of its answer.
private final class Exchanges: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    private struct Exchange {
        let continuation: CheckedContinuation<HTTPAnswer, any Error>
        var deadline: (any DispatchSourceTimer)?
        var body = Data()
    }

    private let lock = NSLock()
    private var exchanges: [Int: Exchange] = [:]
    /// Its thread does nothing else: a deadline comes also while all others are busy.
    private let clock = DispatchQueue(label: "TurnstoneKit.deadlines")

    func begin(
        _ task: URLSessionTask, within timeout: Double,
        _ continuation: CheckedContinuation<HTTPAnswer, any Error>
    ) {
        lock.withLock { exchanges[task.taskIdentifier] = Exchange(continuation: continuation) }
        let deadline = DispatchSource.makeTimerSource(queue: clock)
        deadline.schedule(deadline: .now() + timeout)
        deadline.setEventHandler {
            self.end(task, .failure(Obstacle("no whole answer within \(timeout) s")))
        }
        deadline.resume()
        lock.withLock { exchanges[task.taskIdentifier]?.deadline = deadline }
        task.resume()
    }

    /// Ends an exchange, unless it has ended.
    func end(_ task: URLSessionTask, _ result: Result<HTTPAnswer, any Error>) {
        guard let exchange = lock.withLock({ exchanges.removeValue(forKey: task.taskIdentifier) })
        else { return }
        exchange.deadline?.cancel()
        if case .failure = result { task.cancel() }
        exchange.continuation.resume(with: result)
    }

    func urlSession(_: URLSession, dataTask task: URLSessionDataTask, didReceive data: Data) {
        let isTooLong = lock.withLock {
            exchanges[task.taskIdentifier]?.body.append(data)
            return exchanges[task.taskIdentifier].map { $0.body.count > HTTPAnswer.longestBody }
                ?? false
        }
        if isTooLong {
            end(
                task,
                .failure(TurnstoneError.tooLong))
        }
    }

    func urlSession(
        _: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?
    ) {
        if let error { return end(task, .failure(error)) }
        end(task, task.response)
    }

    private func end(_ task: URLSessionTask, _ response: URLResponse?) {
        guard let response = response as? HTTPURLResponse else {
            return end(task, .failure(URLError(.badServerResponse)))
        }
        var headers: [String: String] = [:]
        for (name, value) in response.allHeaderFields {
            guard let name = name as? String, let value = value as? String else { continue }
            headers[name] = value
        }
        let body = lock.withLock { exchanges[task.taskIdentifier]?.body } ?? Data()
        end(task, .success(HTTPAnswer(status: response.statusCode, headers: headers, body: body)))
    }

    func urlSession(
        _: URLSession, task _: URLSessionTask, willPerformHTTPRedirection _: HTTPURLResponse,
        newRequest _: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) { completionHandler(nil) }

    func urlSession(
        _: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler:
            @escaping @Sendable (
                URLSession.AuthChallengeDisposition, URLCredential?
            ) -> Void
    ) {
        let isForPassword = [
            NSURLAuthenticationMethodDefault, NSURLAuthenticationMethodHTTPBasic,
            NSURLAuthenticationMethodHTTPDigest,
        ].contains(challenge.protectionSpace.authenticationMethod)
        // Certificates are for the system to judge.
        guard isForPassword else { return completionHandler(.performDefaultHandling, nil) }
        #if canImport(FoundationNetworking)
            // This one cancels a task whose challenge is rejected, instead of giving the answer.
            end(task, challenge.failureResponse)
        #endif
        completionHandler(.rejectProtectionSpace, nil)
    }
}

// Foundation for Apple's systems needs no such thing: there `URLSessionTransport` is the default.
#if os(Linux)
    import CCurl
    import Foundation

    /// libcurl, for Linux: Foundation's `URLSession` there ends the process if a connection is closed between
    /// the lines of an answer's head.
    ///
    /// It follows no redirect, because the keys would go with it, answers no challenge, and keeps no cookies.
    /// Debian's libcurl looks up names in a thread that it cannot end: while a look-up that has timed out goes on,
    /// the other exchanges of the same transport wait for it.
    ///
    /// From its first exchange on, each transport has a thread, two descriptors, and one more for each open connection
    /// (at most 16 to a host).
    public struct CurlTransport: Transport {
        private let session: CurlSession
        private let timeout: Double

        /// - Parameter timeout: of one exchange, from the call to the last byte of the answer, in seconds, at
        ///   most a day. The programs themselves give up after ten.
        public init(timeout: Double = 20) {
            session = CurlSession()
            self.timeout = timeout
        }

        public func answer(to request: HTTPRequest) async throws -> HTTPAnswer {
            let exchange = try CurlExchange(request, timeout: timeout)
            return try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation { continuation in
                    exchange.continuation = continuation
                    session.loop.begin(exchange)
                    // One that was cancelled before it was known to the loop would wait for its answer.
                    if Task.isCancelled { session.loop.cancel(exchange) }
                }
            } onCancel: {
                session.loop.cancel(exchange)
            }
        }
    }

    /// Ends its loop with the last transport that uses it.
    private final class CurlSession: Sendable {
        let loop = CurlLoop()

        deinit { loop.end() }
    }

    /// The thread in which all exchanges of a transport go on. C: `libcurl-multi(3)`.
    private final class CurlLoop: @unchecked Sendable {
        private static let isReady = curl_global_init(3) == CURLE_OK  // CURL_GLOBAL_ALL
        private static let connectionsPerHost = 16

        private let lock = NSLock()
        // These are under the lock.
        /// Nil before the first exchange: a transport that is not used costs nothing.
        private var multi: UnsafeMutableRawPointer?
        private var new: [CurlExchange] = []
        private var cancelled: [CurlExchange] = []
        private var isOver = false
        /// The loop's own, by their handles.
        private var going: [UnsafeMutableRawPointer: CurlExchange] = [:]

        func begin(_ exchange: CurlExchange) {
            let isTaken = lock.withLock {
                guard start() else { return false }
                new.append(exchange)
                curl_multi_wakeup(multi)
                return true
            }
            if !isTaken { exchange.end(.failure(Obstacle("libcurl cannot be initialised"))) }
        }

        func cancel(_ exchange: CurlExchange) {
            lock.withLock {
                cancelled.append(exchange)
                curl_multi_wakeup(multi)
            }
        }

        func end() {
            lock.withLock {
                isOver = true
                curl_multi_wakeup(multi)
            }
        }

        /// Starts the thread unless it runs. False: libcurl cannot be used.
        private func start() -> Bool {
            guard multi == nil else { return true }
            guard Self.isReady, let multi = curl_multi_init() else { return false }
            _ = ccurl_multi_setopt_long(
                multi, CURLMOPT_MAX_HOST_CONNECTIONS, Self.connectionsPerHost)
            self.multi = multi
            Thread.detachNewThread { self.run() }
            return true
        }

        private func run() {
            guard let multi = lock.withLock({ multi }) else { return }
            // A handle that was made while descriptors were short has nothing that wakes it.
            let isWakeable = curl_multi_wakeup(multi) == CURLM_OK
            while takeOrders(multi), isWakeable || !giveUp() {
                var count: Int32 = 0
                curl_multi_perform(multi, &count)
                while let message = curl_multi_info_read(multi, &count) {
                    guard message.pointee.msg == CURLMSG_DONE,
                        let easy = message.pointee.easy_handle
                    else { continue }
                    let code = ccurl_message_result(message)
                    remove(easy, from: multi)?.end(code)
                }
                let milliseconds: Int32 = isWakeable ? 60_000 : 50
                if curl_multi_poll(multi, nil, 0, milliseconds, nil) != CURLM_OK {
                    Thread.sleep(forTimeInterval: 0.1)
                }
            }
            curl_multi_cleanup(multi)
        }

        /// Forgets the handle if nothing goes on, and says so: the next exchange gets another one.
        private func giveUp() -> Bool {
            lock.withLock {
                guard going.isEmpty, new.isEmpty, cancelled.isEmpty else { return false }
                multi = nil
                return true
            }
        }

        /// Begins and cancels exchanges. False: there will be no more.
        private func takeOrders(_ multi: UnsafeMutableRawPointer) -> Bool {
            let (new, cancelled, isOver) = lock.withLock {
                defer { (self.new, self.cancelled) = ([], []) }
                return (self.new, self.cancelled, self.isOver)
            }
            for exchange in new {
                guard curl_multi_add_handle(multi, exchange.easy) == CURLM_OK else {
                    exchange.end(.failure(Obstacle("libcurl does not take the request")))
                    continue
                }
                going[exchange.easy] = exchange
            }
            for exchange in cancelled {
                remove(exchange.easy, from: multi)?.end(.failure(CancellationError()))
            }
            return !isOver
        }

        private func remove(
            _ easy: UnsafeMutableRawPointer, from multi: UnsafeMutableRawPointer
        ) -> CurlExchange? {
            guard let exchange = going.removeValue(forKey: easy) else { return nil }
            curl_multi_remove_handle(multi, easy)
            return exchange
        }
    }

    /// A request, and what has arrived of its answer. It is the loop's from its beginning to its end.
    private final class CurlExchange: @unchecked Sendable {
        private static let longestHead = 256 << 10

        var continuation: CheckedContinuation<HTTPAnswer, any Error>?
        let easy: UnsafeMutableRawPointer
        private var headers: UnsafeMutablePointer<curl_slist>?
        private var body = Data()
        private var headLength = 0
        /// Whether the empty line came that ends the newest head: others may precede it, such as a 100.
        private var isHeadWhole = false
        private let timeout: Double

        init(_ request: HTTPRequest, timeout: Double) throws {
            guard let easy = curl_easy_init() else { throw Obstacle("libcurl has no memory") }
            self.easy = easy
            self.timeout = timeout
            let own = [
                "User-Agent": "TurnstoneKit",
                // Bodies are small, and a server that is not asked for it gets no chance to unpack a bomb here.
                "Accept-Encoding": "identity",
                // No round before a body is sent.
                "Expect": "",
            ]
            for (name, value) in request.headers.merging(
                own, uniquingKeysWith: { first, _ in first })
            {
                guard "\(name)\(value)".utf8.allSatisfy({ $0 > 31 && $0 != 127 }) else {
                    throw TurnstoneError.invalid("the header \(name) has a control character")
                }
                headers = curl_slist_append(headers, "\(name): \(value)")
            }
            set(CURLOPT_URL, request.url.absoluteString)
            set(CURLOPT_PROTOCOLS_STR, "http,https")
            set(CURLOPT_NOSIGNAL, 1)  // it sends with MSG_NOSIGNAL
            // Without https the host is this machine. A proxy of the environment would get the key, and ask a
            // machine of its own.
            if request.url.scheme?.lowercased() == "http" { set(CURLOPT_NOPROXY, "*") }
            // libcurl sends a request again by itself if a connection that was used before is closed before any byte
            // of the answer, although the request may have been done. By HTTP/2, a connection that is new may be
            // shared, and counts as used then.
            if !["GET", "HEAD"].contains(request.method) {
                set(CURLOPT_FRESH_CONNECT, 1)
                set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
            }
            // 0 would be no limit.
            set(CURLOPT_TIMEOUT_MS, Int(max(1, min(timeout, 86_400) * 1000)))
            // One of these without a body says so: some proxies ask for the length.
            let takesBody = ["POST", "PUT", "PATCH"].contains(request.method)
            if let body = request.body ?? (takesBody ? Data() : nil) {
                set(CURLOPT_POSTFIELDSIZE, body.count)
                // A zero at the end: libcurl reads elsewhere if there is no address.
                var bytes = Array(body) + [0]
                _ = ccurl_setopt_pointer(easy, CURLOPT_COPYPOSTFIELDS, &bytes)
            } else if request.method == "HEAD" {
                set(CURLOPT_NOBODY, 1)
            }
            set(CURLOPT_CUSTOMREQUEST, request.method)
            _ = ccurl_setopt_pointer(easy, CURLOPT_HTTPHEADER, headers)
            let this = Unmanaged.passUnretained(self).toOpaque()
            _ = ccurl_setopt_pointer(easy, CURLOPT_WRITEDATA, this)
            _ = ccurl_setopt_write(easy, CURLOPT_WRITEFUNCTION) { bytes, _, count, this in
                guard let bytes, let this else { return 0 }
                let exchange = Unmanaged<CurlExchange>.fromOpaque(this).takeUnretainedValue()
                return exchange.take(UnsafeRawBufferPointer(start: bytes, count: count)) ? count : 0
            }
            _ = ccurl_setopt_pointer(easy, CURLOPT_HEADERDATA, this)
            _ = ccurl_setopt_write(easy, CURLOPT_HEADERFUNCTION) { bytes, _, count, this in
                guard let bytes, let this else { return 0 }
                let exchange = Unmanaged<CurlExchange>.fromOpaque(this).takeUnretainedValue()
                let line = UnsafeRawBufferPointer(start: bytes, count: count)
                return exchange.takeHead(line) ? count : 0
            }
        }

        deinit {
            curl_easy_cleanup(easy)
            curl_slist_free_all(headers)
        }

        private func set(_ option: CURLoption, _ value: Int) {
            _ = ccurl_setopt_long(easy, option, value)
        }

        private func set(_ option: CURLoption, _ value: String) {
            _ = ccurl_setopt_text(easy, option, value)
        }

        private func take(_ bytes: UnsafeRawBufferPointer) -> Bool {
            guard body.count + bytes.count <= HTTPAnswer.longestBody else { return false }
            body.append(contentsOf: bytes)
            return true
        }

        /// Takes a line of a head, or of what follows a body in chunks.
        private func takeHead(_ line: UnsafeRawBufferPointer) -> Bool {
            if line.starts(with: "HTTP/".utf8) {
                isHeadWhole = false
            } else if line.allSatisfy({ $0 == 13 || $0 == 10 }) {
                isHeadWhole = true
            }
            headLength += line.count
            return headLength <= Self.longestHead
        }

        func end(_ code: CURLcode) {
            switch code {
            case CURLE_OK:
                let answer = answer
                // libcurl takes a head that is cut for a whole one.
                guard isHeadWhole, answer.status >= 200 else {
                    return end(.failure(Obstacle("the answer was cut")))
                }
                end(.success(answer))
            case CURLE_WRITE_ERROR: end(.failure(TurnstoneError.tooLong))
            case CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL, CURLE_HTTP2,
                CURLE_BAD_CONTENT_ENCODING:
                end(.failure(TurnstoneError.unexpected("the answer is not HTTP")))
            case CURLE_OPERATION_TIMEDOUT:
                end(.failure(Obstacle("no whole answer within \(timeout) s")))
            default:
                end(.failure(Obstacle(String(cString: curl_easy_strerror(code)))))
            }
        }

        func end(_ result: Result<HTTPAnswer, any Error>) {
            continuation?.resume(with: result)
            continuation = nil
        }

        private var answer: HTTPAnswer {
            var status = 0
            _ = ccurl_getinfo_long(easy, CURLINFO_RESPONSE_CODE, &status)
            var headers: [String: String] = [:]
            var header: UnsafeMutablePointer<curl_header>?
            while let next = curl_easy_nextheader(easy, UInt32(CURLH_HEADER), -1, header) {
                let name = String(cString: next.pointee.name).lowercased()
                // Of several lines the first one counts.
                if headers[name] == nil { headers[name] = String(cString: next.pointee.value) }
                header = next
            }
            return HTTPAnswer(status: status, headers: headers, body: body)
        }
    }
#endif

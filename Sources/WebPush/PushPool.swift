import CCurl
import COpenSSL
import Turnstone

/// libcurl's connections to all push services: HTTP/2 or HTTP/1.1, whichever the server prefers (ALPN).
///
/// It speaks only https, follows no redirect, uses no proxy and keeps no cookies. C: libcurl's multi
/// interface.
final class PushPool {
    private let multi: UnsafeMutableRawPointer
    let sockets = OpenSockets()
    private let authorities: String?
    private let connectPatience: Interval
    private let patience: Interval
    private var transfers: [UnsafeMutableRawPointer: PushTransfer] = [:]
    /// Finished handles, kept for reuse: creating one takes 50 µs.
    private var spare: [UnsafeMutableRawPointer] = []

    /// - Parameters:
    ///   - authorities: a file of trusted certificates that replace the system's.
    ///   - connectPatience: the longest time that a connection with its TLS handshake may take.
    ///   - patience: the longest time that a message may take, with the connection.
    init(
        authorities: String?, connectPatience: Interval, patience: Interval
    ) throws(Failure) {
        self.authorities = authorities
        self.connectPatience = connectPatience
        self.patience = patience
        guard curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK, let multi = curl_multi_init()
        else {
            throw Failure(.broken, "unable to start libcurl", cause: "curl_global_init")
        }
        self.multi = multi
        ccurl_multi_setopt_long(multi, CURLMOPT_PIPELINING, Int(CURLPIPE_MULTIPLEX))
        ccurl_multi_setopt_long(multi, CURLMOPT_MAX_HOST_CONNECTIONS, OriginWindow.connections)
        ccurl_multi_setopt_long(
            multi, CURLMOPT_MAX_CONCURRENT_STREAMS, OriginWindow.multiplexed)
    }

    deinit {
        _ = cancelAll()
        for easy in spare { curl_easy_cleanup(easy) }
        curl_multi_cleanup(multi)
    }

    /// Starts a request.
    ///
    /// - Returns: whether libcurl took it.
    func start(_ transfer: PushTransfer) -> Bool {
        defer { withExtendedLifetime((self, transfer)) {} }
        guard let easy = spare.popLast() ?? makeHandle() else { return false }
        guard transfer.configure(easy), curl_multi_add_handle(multi, easy) == CURLM_OK else {
            curl_easy_cleanup(easy)
            return false
        }
        transfers[easy] = transfer
        return true
    }

    /// Creates a handle with the options that all requests share.
    private func makeHandle() -> UnsafeMutableRawPointer? {
        guard let easy = curl_easy_init() else { return nil }
        let codes = [
            ccurl_setopt_text(easy, CURLOPT_PROTOCOLS_STR, "https"),
            ccurl_setopt_long(easy, CURLOPT_FOLLOWLOCATION, 0),
            // An empty text turns off the proxies that the environment names.
            ccurl_setopt_text(easy, CURLOPT_PROXY, ""),
            ccurl_setopt_long(easy, CURLOPT_POST, 1),
            ccurl_setopt_text(easy, CURLOPT_USERAGENT, "Turnstone/\(turnstoneVersion)"),
            ccurl_setopt_long(easy, CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS)),
            // Waits for the first connection to tell whether it can carry more than one request.
            ccurl_setopt_long(easy, CURLOPT_PIPEWAIT, 1),
            // No signals are needed: the program ignores SIGPIPE, and the resolver runs in its own thread.
            ccurl_setopt_long(easy, CURLOPT_NOSIGNAL, 1),
            ccurl_setopt_long(
                easy, CURLOPT_CONNECTTIMEOUT_MS, Int(connectPatience.milliseconds)),
            ccurl_setopt_long(easy, CURLOPT_TIMEOUT_MS, Int(patience.milliseconds)),
            ccurl_setopt_write(easy, CURLOPT_WRITEFUNCTION, takeAnswer),
            ccurl_setopt_read(easy, giveBody),
            ccurl_setopt_seek(easy, refuseToRewind),
            ccurl_setopt_opener(easy, openSocket),
            ccurl_setopt_closer(easy, closeSocket),
            // They outlive all connections: those end with the multi handle, in `deinit`.
            ccurl_setopt_pointer(
                easy, CURLOPT_CLOSESOCKETDATA, Unmanaged.passUnretained(sockets).toOpaque()),
            // OpenSSL looks up single certificates in the folder. Reading the whole bundle would take 16 ms.
            ccurl_setopt_text(easy, CURLOPT_CAINFO, authorities),
            ccurl_setopt_text(
                easy, CURLOPT_CAPATH, authorities == nil ? "/etc/ssl/certs" : nil),
        ]
        guard codes.allSatisfy({ $0 == CURLE_OK }) else {
            curl_easy_cleanup(easy)
            return nil
        }
        // A libcurl without OpenSSL does without it.
        ccurl_setopt_context(easy, keepBuffers)
        return easy
    }

    /// Sends and receives what is possible without waiting.
    ///
    /// - Parameter now: the wall clock's time.
    /// - Returns: the requests that have finished.
    func perform(
        now: Timestamp
    ) -> [(transfer: PushTransfer, result: PushTransfer.Result)] {
        defer { withExtendedLifetime(self) {} }
        var running: Int32 = 0
        curl_multi_perform(multi, &running)
        var done: [(PushTransfer, PushTransfer.Result)] = []
        var left: Int32 = 0
        while let message = curl_multi_info_read(multi, &left) {
            guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle,
                let transfer = transfers.removeValue(forKey: easy)
            else { continue }
            // The message belongs to libcurl and is freed when the handle is removed.
            let code = ccurl_message_result(message)
            done.append((transfer, transfer.result(code, easy, now: now)))
            curl_multi_remove_handle(multi, easy)
            spare.append(easy)
        }
        return done
    }

    /// Waits until something arrives, at most for `pause`. C: `curl_multi_poll(3)`.
    func wait(upTo pause: Interval) {
        defer { withExtendedLifetime(self) {} }
        curl_multi_poll(multi, nil, 0, Int32(min(max(0, pause.milliseconds), 60_000)), nil)
    }

    /// Cancels the requests to one origin.
    ///
    /// - Returns: their data.
    func cancelAll(to origin: OriginState) -> [PushTransfer] {
        defer { withExtendedLifetime(self) {} }
        let cancelled = transfers.filter { $0.value.origin === origin }
        for easy in cancelled.keys {
            curl_multi_remove_handle(multi, easy)
            curl_easy_cleanup(easy)
            transfers[easy] = nil
        }
        return Array(cancelled.values)
    }

    /// Cancels all requests.
    ///
    /// - Returns: their data.
    func cancelAll() -> [PushTransfer] {
        defer { withExtendedLifetime(self) {} }
        let cancelled = Array(transfers.values)
        for easy in transfers.keys {
            curl_multi_remove_handle(multi, easy)
            curl_easy_cleanup(easy)
        }
        transfers = [:]  // after no handle refers to them any more
        return cancelled
    }
}

/// Lets OpenSSL keep the buffers of a connection. libcurl would have it allocate 16 KB for each frame and free
/// them again. C: `CURLOPT_SSL_CTX_FUNCTION`.
private func keepBuffers(
    _ easy: UnsafeMutableRawPointer?, _ context: UnsafeMutableRawPointer?,
    _ data: UnsafeMutableRawPointer?
) -> CURLcode {
    SSL_CTX_ctrl(
        context.map { OpaquePointer($0) }, SSL_CTRL_CLEAR_MODE, Int(SSL_MODE_RELEASE_BUFFERS), nil)
    return CURLE_OK
}

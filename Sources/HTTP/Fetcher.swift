import CCurl
import Turnstone

/// Sends many GET requests at once, over one HTTP/2 connection if the server supports it.
///
/// It follows no redirects, keeps no cookies, speaks only http and https, and unpacks gzip. C: libcurl's
/// multi interface.
package final class Fetcher {
    private let settings: Settings
    private let multi: UnsafeMutableRawPointer
    private var transfers: [UnsafeMutableRawPointer: Transfer] = [:]
    /// Finished handles, kept for reuse: creating one takes 50 µs.
    private var spare: [UnsafeMutableRawPointer] = []

    package struct Settings {
        package var userAgent: String
        /// A file of trusted certificates that replace the system's.
        package var authorities: String?
        /// The largest body that is accepted, in bytes after unpacking.
        package var bodyLimit: Int

        package init(userAgent: String, authorities: String?, bodyLimit: Int) {
            self.userAgent = userAgent
            self.authorities = authorities
            self.bodyLimit = bodyLimit
        }
    }

    package init(_ settings: Settings) throws(Failure) {
        self.settings = settings
        guard curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK, let multi = curl_multi_init()
        else {
            throw Failure(.broken, "unable to start libcurl", cause: "curl_global_init")
        }
        self.multi = multi
        ccurl_multi_setopt_long(multi, CURLMOPT_MAX_HOST_CONNECTIONS, Self.connections)
        ccurl_multi_setopt_long(multi, CURLMOPT_PIPELINING, Int(CURLPIPE_MULTIPLEX))
    }

    deinit {
        cancelAll()
        for easy in spare { curl_easy_cleanup(easy) }
        curl_multi_cleanup(multi)
    }

    /// The number of connections to a server that only knows HTTP/1.1. Over HTTP/2, one carries all requests.
    private static let connections = 6
    /// Enough to hide a second of delay at 30 requests a second.
    private static let streams = 32
    private var isMultiplexed = false

    /// The number of requests that should be under way at once.
    ///
    /// Requests that libcurl queues would spend their time in the queue, and one slow answer would make
    /// others fail. So until an answer has come over HTTP/2, there are no more requests than connections.
    package var capacity: Int { isMultiplexed ? Self.streams : Self.connections }

    /// Starts a GET request.
    ///
    /// - Parameters:
    ///   - tag: returned with the result.
    ///   - entityTag: the `ETag` of the body that is already known (for `If-None-Match`).
    ///   - patience: the longest time it may take.
    package func submit(
        _ url: String, tag: Int, entityTag: String?, patience: Interval
    ) throws(Failure) {
        defer { withExtendedLifetime(self) {} }
        guard let easy = spare.popLast() ?? makeHandle() else {
            throw Failure(.later(seconds: 5), "unable to begin a request", cause: "ENOMEM")
        }
        let transfer = Transfer(tag: tag, bodyLimit: settings.bodyLimit)
        defer { withExtendedLifetime(transfer) {} }
        transfer.setHeaders(entityTag: entityTag)
        guard configure(easy, transfer, url, patience),
            curl_multi_add_handle(multi, easy) == CURLM_OK
        else {
            curl_easy_cleanup(easy)
            throw Failure(.broken, "unable to begin a request: libcurl refused it", cause: "curl")
        }
        transfers[easy] = transfer
    }

    /// Creates a handle with the options that all requests share. Handles keep them when they are reused; the
    /// buffer's size, for example, cannot be changed.
    private func makeHandle() -> UnsafeMutableRawPointer? {
        guard let easy = curl_easy_init() else { return nil }
        let codes = [
            ccurl_setopt_text(easy, CURLOPT_PROTOCOLS_STR, "http,https"),
            ccurl_setopt_text(easy, CURLOPT_USERAGENT, settings.userAgent),
            ccurl_setopt_text(easy, CURLOPT_ACCEPT_ENCODING, "gzip"),
            ccurl_setopt_long(easy, CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS)),
            // No signals are needed: the program ignores SIGPIPE, and the resolver runs in its own thread.
            ccurl_setopt_long(easy, CURLOPT_NOSIGNAL, 1),
            ccurl_setopt_long(easy, CURLOPT_BUFFERSIZE, 256 * 1024),
            ccurl_setopt_write(easy, CURLOPT_WRITEFUNCTION, takeBody),
            // OpenSSL looks up single certificates in the folder. Reading the whole bundle would take 16 ms.
            ccurl_setopt_text(easy, CURLOPT_CAINFO, settings.authorities),
            ccurl_setopt_text(
                easy, CURLOPT_CAPATH, settings.authorities == nil ? "/etc/ssl/certs" : nil),
        ]
        guard codes.allSatisfy({ $0 == CURLE_OK }) else {
            curl_easy_cleanup(easy)
            return nil
        }
        return easy
    }

    private func configure(
        _ easy: UnsafeMutableRawPointer, _ transfer: Transfer, _ url: String, _ patience: Interval
    ) -> Bool {
        let codes = [
            ccurl_setopt_text(easy, CURLOPT_URL, url),
            // Without TLS the HTTP version is unknown until the first answer, and all other requests would
            // wait for it.
            ccurl_setopt_long(easy, CURLOPT_PIPEWAIT, url.hasPrefix("https") ? 1 : 0),
            ccurl_setopt_long(
                easy, CURLOPT_CONNECTTIMEOUT_MS, Int(max(1, min(patience.milliseconds, 8000)))),
            ccurl_setopt_long(easy, CURLOPT_TIMEOUT_MS, Int(max(1, patience.milliseconds))),
            ccurl_setopt_pointer(easy, CURLOPT_HTTPHEADER, transfer.headers),
            ccurl_setopt_pointer(
                easy, CURLOPT_WRITEDATA, Unmanaged.passUnretained(transfer).toOpaque()),
        ]
        return codes.allSatisfy { $0 == CURLE_OK }
    }

    /// Sends and receives; waits up to `pause` if there is nothing to do.
    ///
    /// - Returns: the requests that have finished.
    package func step(pause: Interval) -> [Fetched] {
        defer { withExtendedLifetime(self) {} }
        var running: Int32 = 0
        curl_multi_perform(multi, &running)
        var done = takeDone()
        guard done.isEmpty, pause > .seconds(0) else { return done }
        curl_multi_poll(multi, nil, 0, Int32(min(pause.milliseconds, 1000)), nil)
        curl_multi_perform(multi, &running)
        done = takeDone()
        return done
    }

    private func takeDone() -> [Fetched] {
        defer { withExtendedLifetime(self) {} }
        var done: [Fetched] = []
        var left: Int32 = 0
        while let message = curl_multi_info_read(multi, &left) {
            guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle,
                let transfer = transfers.removeValue(forKey: easy)
            else { continue }
            // The handle uses the transfer's headers until it is removed.
            defer { withExtendedLifetime(transfer) {} }
            // The message belongs to libcurl and is freed when the handle is removed.
            let code = ccurl_message_result(message)
            done.append(transfer.result(code, easy))
            var version = 0
            ccurl_getinfo_long(easy, CURLINFO_HTTP_VERSION, &version)
            if version > 0 { isMultiplexed = version == CURL_HTTP_VERSION_2_0 }
            curl_multi_remove_handle(multi, easy)
            spare.append(easy)
        }
        return done
    }

    /// Cancels all requests.
    package func cancelAll() {
        defer { withExtendedLifetime(self) {} }
        for easy in transfers.keys {
            curl_multi_remove_handle(multi, easy)
            curl_easy_cleanup(easy)
        }
        transfers = [:]  // after no handle refers to them any more
    }
}

/// Receives each piece of a body from libcurl. Returning less than `size * count` ends the request.
/// C: `CURLOPT_WRITEFUNCTION`.
private func takeBody(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int,
    _ data: UnsafeMutableRawPointer?
) -> Int {
    guard let bytes, let data else { return 0 }
    let transfer = Unmanaged<Transfer>.fromOpaque(data).takeUnretainedValue()
    return transfer.take(UnsafeRawBufferPointer(start: bytes, count: size * count))
        ? size * count : 0
}

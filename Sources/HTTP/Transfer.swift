import CCurl
import Turnstone
import Unix

/// The data of one request while libcurl works on it. It lives as long as its handle is in the multi handle.
final class Transfer {
    let tag: Int
    private let bodyLimit: Int
    private var body: [UInt8] = []
    /// libcurl reads the list until the request is finished.
    private(set) var headers: UnsafeMutablePointer<curl_slist>?

    init(tag: Int, bodyLimit: Int) {
        self.tag = tag
        self.bodyLimit = bodyLimit
    }

    deinit { curl_slist_free_all(headers) }

    func setHeaders(entityTag: String?) {
        headers = curl_slist_append(headers, "Accept: application/json")
        if let entityTag { headers = curl_slist_append(headers, "If-None-Match: \(entityTag)") }
    }

    /// - Returns: `false` if the body would become too large.
    func take(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard body.count + bytes.count <= bodyLimit else { return false }
        body.append(contentsOf: bytes)
        return true
    }

    func result(_ code: CURLcode, _ easy: UnsafeMutableRawPointer) -> Fetched {
        guard code == CURLE_OK else {
            return Fetched(tag: tag, result: .failed(fault(code, easy)))
        }
        var status = 0
        ccurl_getinfo_long(easy, CURLINFO_RESPONSE_CODE, &status)
        let answer = FetchedAnswer(
            status: status, body: body, entityTag: header("etag", of: easy),
            retryAfter: retryAfter(easy))
        return Fetched(tag: tag, result: .answered(answer))
    }

    private func fault(_ code: CURLcode, _ easy: UnsafeMutableRawPointer) -> FetchFault {
        switch code {
        case CURLE_COULDNT_RESOLVE_HOST: return .unreachable("its name cannot be resolved")
        case CURLE_COULDNT_CONNECT:
            var number = 0
            ccurl_getinfo_long(easy, CURLINFO_OS_ERRNO, &number)
            return .unreachable(
                number == 0
                    ? "no connection" : Errno(rawValue: Int32(truncatingIfNeeded: number)).reason)
        case CURLE_OPERATION_TIMEDOUT: return .unreachable("no answer in time")
        case CURLE_SSL_CONNECT_ERROR:
            return .unreachable(
                "the TLS handshake failed: its versions or ciphers do not match ours, or it closed the connection"
            )
        case CURLE_PEER_FAILED_VERIFICATION:
            var verdict = 0
            ccurl_getinfo_long(easy, CURLINFO_SSL_VERIFYRESULT, &verdict)
            return .untrusted(untrustedReason(verdict))
        // A server that closes a connection was reached.
        case CURLE_GOT_NOTHING: return .unusable("the connection was closed without an answer")
        case CURLE_SEND_ERROR, CURLE_RECV_ERROR:
            return .unusable("the connection was closed early")
        case CURLE_PARTIAL_FILE, CURLE_HTTP2_STREAM: return .unusable("the answer ended early")
        case CURLE_WRITE_ERROR: return .unusable("the answer is too large")
        case CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL, CURLE_HTTP2:
            return .unusable("the answer is not HTTP")
        default: return .unusable(String(cString: curl_easy_strerror(code)))
        }
    }

    private func header(_ name: String, of easy: UnsafeMutableRawPointer) -> String? {
        var header: UnsafeMutablePointer<curl_header>?
        guard curl_easy_header(easy, name, 0, UInt32(CURLH_HEADER), -1, &header) == CURLHE_OK,
            let header
        else { return nil }
        return String(cString: header.pointee.value)
    }

    /// The pause that `Retry-After` asks for, at most a day; `nil` if none. (`CURLINFO_RETRY_AFTER` is 0 for
    /// a number that is too long.)
    private func retryAfter(_ easy: UnsafeMutableRawPointer) -> Interval? {
        requestedPause(header("retry-after", of: easy), now: .systemNow).map { min($0, .hours(24)) }
    }
}

/// Why OpenSSL does not trust a certificate. C: `X509_verify_cert_error_string(3)`, whose numbers libcurl
/// passes on; 0 if the certificate is trusted and its name is another one.
private func untrustedReason(_ verdict: Int) -> String {
    switch verdict {
    case 0: "its certificate is for another name"
    case 9: "its certificate is not valid yet; check this machine's clock"
    case 10: "its certificate has expired; check this machine's clock, too"
    case 18, 19: "its certificate is signed by itself"
    case 2, 20, 21: "its certificate is signed by an unknown authority"
    default: "its certificate cannot be verified (\(verdict))"
    }
}

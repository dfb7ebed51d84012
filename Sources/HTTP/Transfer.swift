import CCurl
import Turnstone

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
            let reason =
                code == CURLE_WRITE_ERROR
                ? "the answer is too large" : String(cString: curl_easy_strerror(code))
            return Fetched(tag: tag, result: .failed(reason))
        }
        var status = 0
        ccurl_getinfo_long(easy, CURLINFO_RESPONSE_CODE, &status)
        let answer = FetchedAnswer(
            status: status, body: body, entityTag: header("etag", of: easy),
            retryAfter: retryAfter(easy))
        return Fetched(tag: tag, result: .answered(answer))
    }

    private func header(_ name: String, of easy: UnsafeMutableRawPointer) -> String? {
        var header: UnsafeMutablePointer<curl_header>?
        guard curl_easy_header(easy, name, 0, UInt32(CURLH_HEADER), -1, &header) == CURLHE_OK,
            let header
        else { return nil }
        return String(cString: header.pointee.value)
    }

    /// `Retry-After` in either form, seconds or a date, of at most a day. C: `CURLINFO_RETRY_AFTER`.
    private func retryAfter(_ easy: UnsafeMutableRawPointer) -> Interval? {
        var seconds: curl_off_t = 0
        ccurl_getinfo_offset(easy, CURLINFO_RETRY_AFTER, &seconds)
        return seconds > 0 ? .seconds(min(Int64(seconds), 86_400)) : nil
    }
}

import CCurl
import CUnix
import Turnstone

/// The data of one message while libcurl works on it. It lives as long as its handle is in the multi handle.
final class PushTransfer {
    let origin: OriginState
    private let sockets: OpenSockets
    let item: OriginState.Item
    private let lines: HeaderLines
    /// Whether the connection ends with it.
    private let endsConnection: Bool
    private let body: [UInt8]
    /// How much of the body libcurl has taken.
    private var given = 0
    private var answer: [UInt8] = []
    private var answerLength = 0
    /// Whether the host's address was refused.
    private var isForbidden = false

    /// The part of an answer that is kept.
    private static let kept = 4096
    /// The longest answer in bytes.
    private static let longest = 1 << 20

    init(
        _ item: OriginState.Item, to origin: OriginState, over sockets: OpenSockets,
        _ lines: HeaderLines, body: [UInt8]
    ) {
        self.item = item
        self.origin = origin
        self.sockets = sockets
        self.lines = lines
        self.body = body
        endsConnection = origin.endsConnection
    }

    /// The value of `authorization` that it was sent with.
    var bearer: String { lines.values.bearer }

    /// Sets the options of this message. Handles keep those of the last one.
    func configure(_ easy: UnsafeMutableRawPointer) -> Bool {
        defer { withExtendedLifetime(self) {} }
        let pointer = Unmanaged.passUnretained(self).toOpaque()
        let codes = [
            ccurl_setopt_text(easy, CURLOPT_URL, item.request.subscription.endpoint.text),
            ccurl_setopt_long(easy, CURLOPT_POSTFIELDSIZE, body.count),
            ccurl_setopt_pointer(easy, CURLOPT_READDATA, pointer),
            ccurl_setopt_pointer(easy, CURLOPT_HTTPHEADER, lines.list),
            ccurl_setopt_long(easy, CURLOPT_FORBID_REUSE, endsConnection ? 1 : 0),
            ccurl_setopt_pointer(easy, CURLOPT_WRITEDATA, pointer),
            ccurl_setopt_pointer(easy, CURLOPT_OPENSOCKETDATA, pointer),
        ]
        return codes.allSatisfy { $0 == CURLE_OK }
    }

    /// - Returns: the number of bytes; 0 at the end.
    fileprivate func give(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
        let count = min(body.count - given, buffer.count)
        body.withUnsafeBytes { body in
            buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: body[given..<given + count]))
        }
        given += count
        return count
    }

    /// - Returns: `false` if the answer is too long.
    fileprivate func take(_ bytes: UnsafeRawBufferPointer) -> Bool {
        answerLength += bytes.count
        answer.append(contentsOf: bytes.prefix(Self.kept - answer.count))
        return answerLength <= Self.longest
    }

    fileprivate func open(_ address: UnsafeMutablePointer<curl_sockaddr>) -> curl_socket_t {
        let family = address.pointee.family
        let bytes = UnsafeRawBufferPointer(
            start: UnsafeRawPointer(address) + MemoryLayout<curl_sockaddr>.offset(of: \.addr)!,
            count: Int(address.pointee.addrlen))
        let place = family == AF_INET ? 4..<8 : family == AF_INET6 ? 8..<24 : 0..<0
        guard place.upperBound <= bytes.count,
            origin.mayBePrivate || isPublicAddress(Array(bytes[place]))
        else {
            isForbidden = true
            return curl_socket_t(-1)  // CURL_SOCKET_BAD
        }
        let closing = Int32(SOCK_CLOEXEC.rawValue)
        let number = socket(
            family, address.pointee.socktype | closing, address.pointee.protocol)
        if number >= 0 { sockets.add(number, to: origin) }
        return number
    }

    /// The result of a finished request.
    enum Result {
        case answered(WebPushVerdict, isMultiplexed: Bool)
        /// Nothing was sent: there was no connection.
        case failed(String)
        /// It may have been processed.
        case lost(String)
    }

    /// - Parameter now: the wall clock's time.
    func result(_ code: CURLcode, _ easy: UnsafeMutableRawPointer, now: Timestamp) -> Result {
        var status = 0
        ccurl_getinfo_long(easy, CURLINFO_RESPONSE_CODE, &status)
        // Once the status has come, the rest of the answer says only why.
        if code == CURLE_OK || status >= 200 {
            var version = 0
            ccurl_getinfo_long(easy, CURLINFO_HTTP_VERSION, &version)
            let verdict = WebPushVerdict(
                status: status, body: answer, retryAfter: retryAfter(easy, now: now))
            return .answered(verdict, isMultiplexed: version == CURL_HTTP_VERSION_2_0)
        }
        if isForbidden { return .failed("its address is not public (WEBPUSH_PRIVATE_HOSTS)") }
        var sent = 0
        ccurl_getinfo_long(easy, CURLINFO_REQUEST_SIZE, &sent)
        let reason =
            code == CURLE_SEND_FAIL_REWIND
            ? "the connection ended without an answer" : String(cString: curl_easy_strerror(code))
        return sent == 0 ? .failed(reason) : .lost(reason)
    }

    /// The pause that `Retry-After` asks for; `nil` if none. (`CURLINFO_RETRY_AFTER` is 0 for a number that
    /// is too long.) C: `curl_easy_header(3)`.
    private func retryAfter(_ easy: UnsafeMutableRawPointer, now: Timestamp) -> Interval? {
        var header: UnsafeMutablePointer<curl_header>?
        let code = curl_easy_header(easy, "retry-after", 0, UInt32(CURLH_HEADER), -1, &header)
        guard code == CURLHE_OK, let header else { return nil }
        return requestedPause(String(cString: header.pointee.value), now: now)
    }
}

/// Gives libcurl the next piece of a body. C: `CURLOPT_READFUNCTION`.
func giveBody(
    _ buffer: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int,
    _ data: UnsafeMutableRawPointer?
) -> Int {
    guard let buffer, let data else { return 0 }
    let transfer = Unmanaged<PushTransfer>.fromOpaque(data).takeUnretainedValue()
    return transfer.give(UnsafeMutableRawBufferPointer(start: buffer, count: size * count))
}

/// Keeps libcurl from sending a body again by itself. It does so when a connection that it has used before
/// ends without an answer, although the push service may have accepted the message, and nobody would know
/// that it may arrive twice. C: `CURLOPT_SEEKFUNCTION`.
func refuseToRewind(
    _ data: UnsafeMutableRawPointer?, _ offset: curl_off_t, _ origin: Int32
) -> Int32 { CURL_SEEKFUNC_FAIL }

/// Receives each piece of an answer's body from libcurl. Returning less than `size * count` ends the request.
/// C: `CURLOPT_WRITEFUNCTION`.
func takeAnswer(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int,
    _ data: UnsafeMutableRawPointer?
) -> Int {
    guard let bytes, let data else { return 0 }
    let transfer = Unmanaged<PushTransfer>.fromOpaque(data).takeUnretainedValue()
    return transfer.take(UnsafeRawBufferPointer(start: bytes, count: size * count))
        ? size * count : 0
}

/// Opens a socket to the address that a host's name led to, if that is allowed. A check of the name alone
/// would lose to a name server that answers differently the next time.
/// C: `CURLOPT_OPENSOCKETFUNCTION`.
func openSocket(
    _ data: UnsafeMutableRawPointer?, _ purpose: curlsocktype,
    _ address: UnsafeMutablePointer<curl_sockaddr>?
) -> curl_socket_t {
    guard let data, let address else { return -1 }
    return Unmanaged<PushTransfer>.fromOpaque(data).takeUnretainedValue().open(address)
}

/// Closes a socket. C: `CURLOPT_CLOSESOCKETFUNCTION`.
func closeSocket(_ data: UnsafeMutableRawPointer?, _ number: curl_socket_t) -> Int32 {
    guard let data else { return -1 }
    return Unmanaged<OpenSockets>.fromOpaque(data).takeUnretainedValue().close(number)
}

import CNGHTTP2
import HTTP2
import Turnstone

/// The server's side of the HTTP/2 protocol: bytes in, bytes out, and requests.
///
/// C: libnghttp2.
final class ServerSession: FrameSession {
    /// A request and its answer. Its place in `streams` is reused, with the memory that it has.
    struct Stream {
        var request = ServerRequest(stream: 0, fields: HeaderFields(), body: [])
        var isDelivered = false
        var answer: [UInt8] = []
        var sent = 0
        var resetCode: UInt32?
    }

    let limits: ServerLimits
    var session: OpaquePointer?
    var streams: [Stream] = []
    var requests: [ServerRequest] = []
    /// The number of requests beyond the limit of open ones.
    var refusedStreams = 0
    /// Whether requests are delivered before their bodies have arrived.
    var deliversEarly = false
    private var free: [Int] = []
    private var pairs: [nghttp2_nv] = []

    /// The number of requests that are not answered yet.
    var openStreams: Int { streams.count - free.count }

    init(_ limits: ServerLimits) throws(Failure) {
        self.limits = limits
        var callbacks: OpaquePointer?
        guard nghttp2_session_callbacks_new(&callbacks) == 0 else { throw outOfMemory }
        defer { nghttp2_session_callbacks_del(callbacks) }
        install(callbacks)
        let this = Unmanaged.passUnretained(self).toOpaque()
        guard nghttp2_session_server_new(&session, callbacks, this) == 0 else { throw outOfMemory }
        announce(streams: limits.streams, window: limits.window)
        if let window = limits.window {
            nghttp2_session_set_local_window_size(session, none, 0, window)
        }
    }

    deinit { nghttp2_session_del(session) }

    /// Announces how many requests the client may have open at once from now on.
    func allow(streams: UInt32) { announce(streams: streams, window: nil) }

    private func announce(streams: UInt32, window: Int32?) {
        defer { withExtendedLifetime(self) {} }
        var entries = [
            nghttp2_settings_entry(
                settings_id: Int32(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS.rawValue),
                value: streams)
        ]
        if let window {
            entries.append(
                nghttp2_settings_entry(
                    settings_id: Int32(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE.rawValue),
                    value: UInt32(window)))
        }
        nghttp2_submit_settings(session, none, entries, entries.count)
    }

    func answer(_ id: Int32, _ answer: ServerAnswer) {
        defer { withExtendedLifetime(self) {} }
        guard let place = place(id) else { return }  // the client has cancelled it
        streams[place].answer = answer.body
        streams[place].sent = 0
        streams[place].resetCode = answer.resetCode
        // RFC 9110 section 9.3.2: an answer to HEAD has no content.
        let isHead = streams[place].request.fields[":method"] == "HEAD"
        let hasBody = !isHead && (!answer.body.isEmpty || answer.resetCode != nil)
        var provider = nghttp2_data_provider()
        provider.read_callback = { _, id, buffer, room, flags, _, this in
            withServerSession(this) { $0.sendBody(id, buffer!, room, flags!) }
        }
        _ = answer.fields.withPairs(&pairs) { pairs, count in
            hasBody
                ? nghttp2_submit_response(session, id, pairs, count, &provider)
                : nghttp2_submit_response(session, id, pairs, count, nil)
        }
    }

    func reset(_ id: Int32, code: UInt32) {
        defer { withExtendedLifetime(self) {} }
        nghttp2_submit_rst_stream(session, none, id, code)
    }

    /// Sends GOAWAY: requests on streams above `last` are not processed.
    func goAway(last: Int32, code: UInt32, debugData: [UInt8]) {
        defer { withExtendedLifetime(self) {} }
        nghttp2_submit_goaway(session, none, last, code, debugData, debugData.count)
    }

    // MARK: Places

    func open(_ id: Int32) {
        let place = free.popLast() ?? streams.count
        if place == streams.count { streams.append(Stream()) }
        streams[place].request.stream = id
        streams[place].request.fields.removeAll()
        streams[place].request.body.removeAll(keepingCapacity: true)
        streams[place].request.bodyLength = 0
        streams[place].request.isComplete = false
        streams[place].isDelivered = false
        let data = UnsafeMutableRawPointer(bitPattern: place + 1)
        nghttp2_session_set_stream_user_data(session, id, data)
    }

    func release(_ place: Int) {
        streams[place].answer = []
        free.append(place)
    }
}

private let none = UInt8(NGHTTP2_FLAG_NONE.rawValue)

/// Calls `body` with the session that a C callback was called for.
func withServerSession<Result>(
    _ this: UnsafeMutableRawPointer?, _ body: (ServerSession) -> Result
) -> Result {
    Unmanaged<ServerSession>.fromOpaque(this!)._withUnsafeGuaranteedRef(body)
}

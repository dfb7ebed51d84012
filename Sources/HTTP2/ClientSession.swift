import CNGHTTP2
import DequeModule
import Turnstone

/// The client's side of the HTTP/2 protocol: bytes in, bytes out, and events.
///
/// C: libnghttp2.
final class ClientSession: FrameSession {
    /// A request under way. Its place in `streams` is reused, with the memory that it has.
    struct Stream {
        var id: Int32 = 0
        var tag = 0
        var deadline = Instant.first
        var body: [UInt8] = []
        var sent = 0
        var answer = ClientEvent.Answer(status: 0, fields: HeaderFields(), body: [])
        var isSettled = true
        var isUnsent = false

        mutating func begin(
            _ id: Int32, tag: Int, _ body: [UInt8], until deadline: Instant
        ) {
            self.id = id
            self.tag = tag
            self.deadline = deadline
            self.body = body
            sent = 0
            answer.status = 0
            isSettled = false
            isUnsent = false
        }

        /// Copies the next bytes of the body.
        ///
        /// - Returns: how many, and whether they are the last ones.
        mutating func give(
            _ buffer: UnsafeMutablePointer<UInt8>, _ room: Int
        ) -> (count: Int, isEnd: Bool) {
            let count = min(room, body.count - sent)
            body.withUnsafeBufferPointer {
                guard let base = $0.baseAddress else { return }
                buffer.update(from: base + sent, count: count)
            }
            sent += count
            return (count, sent == body.count)
        }

        /// Begins another part of the answer. Fields after the final status are trailers, which are ignored.
        mutating func beginFields() {
            guard answer.status < 200 else { return }
            answer.status = 0
            answer.fields.removeAll()
            answer.body.removeAll(keepingCapacity: true)
        }

        mutating func receive(
            _ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>
        ) {
            // nghttp2 has checked that this is `:status` with three digits.
            if name.first == UInt8(ascii: ":") {
                var status = 0
                for digit in value { status = status * 10 + Int(digit) - 48 }
                answer.status = status
            } else if answer.body.isEmpty {
                answer.fields.append(name, value)
            }
        }
    }

    let limits: ClientLimits
    var session: OpaquePointer?
    var streams: [Stream] = []
    var events: [ClientEvent] = []
    /// The number of requests without an outcome.
    var openRequests = 0
    var goAway: GoAway?
    var hasSettings = false
    /// The number of submitted bytes of bodies that are not written yet.
    var unwritten = 0
    private var free: [Int] = []
    /// The requests in the order of their deadlines. The stream's id tells the uses of a place apart.
    private var waiting = Deque<(place: Int, id: Int32)>()
    private var pairs: [nghttp2_nv] = []

    init(_ limits: ClientLimits) throws(Failure) {
        self.limits = limits
        var callbacks: OpaquePointer?
        guard nghttp2_session_callbacks_new(&callbacks) == 0 else { throw outOfMemory }
        defer { nghttp2_session_callbacks_del(callbacks) }
        install(callbacks)
        let this = Unmanaged.passUnretained(self).toOpaque()
        guard nghttp2_session_client_new(&session, callbacks, this) == 0 else { throw outOfMemory }
        let noPush = nghttp2_settings_entry(
            settings_id: Int32(NGHTTP2_SETTINGS_ENABLE_PUSH.rawValue), value: 0)
        let flags = UInt8(NGHTTP2_FLAG_NONE.rawValue)
        guard nghttp2_submit_settings(session, flags, [noPush], 1) == 0 else { throw outOfMemory }
    }

    deinit { nghttp2_session_del(session) }

    /// The number of requests that the server allows at once; 0 until it has announced one.
    var maximumStreams: Int {
        defer { withExtendedLifetime(self) {} }
        guard hasSettings else { return 0 }
        return Int(
            nghttp2_session_get_remote_settings(
                session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS))
    }

    /// The number of further bytes of bodies that fit into the connection's flow-control window (RFC 9113
    /// section 5.2).
    ///
    /// Bodies beyond it wait inside nghttp2, where newer ones may overtake a partly sent one until its time
    /// is up.
    var credit: Int {
        defer { withExtendedLifetime(self) {} }
        return Int(nghttp2_session_get_remote_window_size(session)) - unwritten
    }

    var takesRequests: Bool {
        defer { withExtendedLifetime(self) {} }
        return goAway == nil && nghttp2_session_check_request_allowed(session) != 0
    }

    /// - Returns: whether the request was submitted. If not, nothing was sent and no event follows.
    func submit(tag: Int, _ fields: HeaderFields, body: [UInt8], now: Instant) -> Bool {
        defer { withExtendedLifetime(self) {} }
        let place = freePlace()
        var provider = nghttp2_data_provider()
        provider.read_callback = { session, id, buffer, room, flags, _, this in
            withSession(this) { $0.sendBody(id, buffer!, room, flags!) }
        }
        let data = UnsafeMutableRawPointer(bitPattern: place + 1)
        let id = fields.withPairs(&pairs) { pairs, count in
            if body.isEmpty {
                nghttp2_submit_request(session, nil, pairs, count, nil, data)
            } else {
                nghttp2_submit_request(session, nil, pairs, count, &provider, data)
            }
        }
        guard id > 0 else {
            free.append(place)
            return false
        }
        streams[place].begin(id, tag: tag, body, until: now + limits.request)
        unwritten += body.count
        waiting.append((place, id))
        openRequests += 1
        return true
    }

    private func freePlace() -> Int {
        if let place = free.popLast() { return place }
        streams.append(Stream())
        return streams.count - 1
    }

    func ping() {
        defer { withExtendedLifetime(self) {} }
        nghttp2_submit_ping(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), nil)
    }

    /// Tells the server that no more requests will follow.
    func endRequests() {
        defer { withExtendedLifetime(self) {} }
        nghttp2_session_terminate_session(session, UInt32(NGHTTP2_NO_ERROR.rawValue))
    }

    // MARK: Outcomes

    /// Cancels requests whose time is up.
    ///
    /// - Returns: the next deadline, or `nil`.
    func expire(now: Instant) -> Instant? {
        defer { withExtendedLifetime(self) {} }
        while let (place, id) = waiting.first {
            if streams[place].id == id, !streams[place].isSettled {
                guard streams[place].deadline <= now else { return streams[place].deadline }
                nghttp2_submit_rst_stream(
                    session, UInt8(NGHTTP2_FLAG_NONE.rawValue), id,
                    UInt32(NGHTTP2_CANCEL.rawValue))
                settle(place, .lost(tag: streams[place].tag, reason: "time-out"))
            }
            waiting.removeFirst()
        }
        return nil
    }

    /// Reports every request without an outcome as lost, because the connection is gone.
    func loseAll(_ reason: String) {
        for place in streams.indices where !streams[place].isSettled {
            settle(place, .lost(tag: streams[place].tag, reason: reason))
        }
    }

    func settle(_ place: Int, _ event: ClientEvent) {
        streams[place].isSettled = true
        openRequests -= 1
        events.append(event)
    }

    func release(_ place: Int) {
        unwritten -= streams[place].body.count - streams[place].sent
        streams[place].sent = streams[place].body.count
        streams[place].id = 0
        free.append(place)
    }
}

package let outOfMemory = Failure(
    .later(seconds: 5), "unable to set up HTTP/2: no memory", cause: "ENOMEM")

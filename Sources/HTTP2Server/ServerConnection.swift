import HTTP2
import Turnstone
import Unix

/// One client's connection to a ``Server``.
package final class ServerConnection {
    /// The connection's number; the server counts from 1.
    package let number: Int
    /// The index of the server's port that the client connected to.
    package let listener: Int
    package private(set) var isClosed = false
    /// Whether the server reads nothing, as if it hung. Arriving bytes stay in the socket.
    package var isDeaf = false
    private let session: ServerSession
    private var stream: TLSStream?
    private var isReady = false
    private var endsWhenWritten = false
    private(set) var wantsWrite = false
    /// Whether there is more to read that poll(2) does not report.
    private(set) var hasMore = false
    private var output = OutputBuffer()
    private let handshakeFault: HandshakeFault?

    init(
        _ number: Int, listener: Int, _ stream: consuming TLSStream, _ limits: ServerLimits,
        handshakeFault: HandshakeFault? = nil
    ) throws(Failure) {
        self.number = number
        self.listener = listener
        self.handshakeFault = handshakeFault
        session = try ServerSession(limits)
        self.stream = consume stream
    }

    var descriptor: Int32? { stream?.number }

    /// Whether to wait for the client's next bytes.
    var wantsRead: Bool { !isDeaf }

    /// The number of requests that came while too many were open.
    package var refusedStreams: Int { session.refusedStreams }
    /// The number of requests that are not answered yet.
    package var openStreams: Int { session.openStreams }

    /// Whether requests are delivered before their bodies have arrived.
    package var deliversEarly: Bool {
        get { session.deliversEarly }
        set { session.deliversEarly = newValue }
    }

    /// Answers a request. Nothing happens if the client has cancelled it.
    package func answer(_ stream: Int32, _ answer: ServerAnswer) { session.answer(stream, answer) }

    /// Resets a request's stream with an error code (RFC 9113 section 7).
    package func reset(_ stream: Int32, code: UInt32) { session.reset(stream, code: code) }

    /// Announces how many requests may be open at once from now on.
    package func allow(streams: Int) { session.allow(streams: UInt32(clamping: streams)) }

    /// Sends GOAWAY: requests on streams above `last` are not processed.
    ///
    /// - Parameter closing: whether the connection closes at once after that. Otherwise it closes when all
    ///   requests up to `last` are answered.
    package func goAway(last: Int32, code: UInt32, debugData: [UInt8], closing: Bool) {
        session.goAway(last: last, code: code, debugData: debugData)
        endsWhenWritten = closing
    }

    /// Closes the connection at once.
    ///
    /// - Parameter resetting: whether the client gets a TCP reset.
    package func drop(resetting: Bool = false) {
        if resetting { stream?.resetOnClose() }
        isClosed = true
        stream = nil
    }

    func takeRequests() -> [ServerRequest] {
        let requests = session.requests
        session.requests = []
        return requests
    }

    /// Reads at most 1 MiB of what has arrived, so that other connections get their turn.
    func receive(_ buffer: UnsafeMutableRawBufferPointer) {
        defer { withExtendedLifetime(self) {} }
        hasMore = false
        if !isReady, !shakeHands() { return }
        for _ in 0..<64 {
            switch stream?.read(into: buffer) {
            case .moved(let count):
                let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<count])
                if session.receive(bytes) != nil { return drop() }
            case .wantsRead, .wantsWrite, nil: return
            case .closed, .failed: return drop()
            }
        }
        hasMore = true
    }

    private func shakeHands() -> Bool {
        wantsWrite = false
        if let handshakeFault, let stream = stream.take() {
            failHandshake(handshakeFault, stream)
            drop()
            return false
        }
        switch stream?.handshake() {
        case .moved: isReady = true
        case .wantsWrite: wantsWrite = true
        case .wantsRead, nil: break
        case .closed, .failed: drop()
        }
        return isReady
    }

    /// Writes as much as the socket takes.
    func flush() {
        defer { withExtendedLifetime(self) {} }
        guard isReady, !isClosed else { return }
        wantsWrite = false
        while true {
            output.fill { session.nextOutput() }
            if output.isEmpty { break }
            switch stream?.write(output.bytes) {
            case .moved(let count): output.drop(count)
            case .wantsRead, nil: return
            case .wantsWrite:
                wantsWrite = true
                return
            case .closed, .failed: return drop()
            }
        }
        if endsWhenWritten || session.isDone {
            stream?.shutDown()
            drop()
        }
    }
}

import HTTP2
import Turnstone
import Unix

/// One client's connection to a ``Server``.
package final class ServerConnection {
    /// Counts the server's connections from 1.
    package let number: Int
    /// Which of the server's ports the client came to.
    package let listener: Int
    package private(set) var isClosed = false
    /// Whether nothing is read, as if the server hung. What comes meanwhile stays in the socket.
    package var isDeaf = false
    private let session: ServerSession
    private var stream: TLSStream?
    private var isReady = false
    private var endsWhenWritten = false
    private(set) var wantsWrite = false
    /// Whether there is more to read that no poll will tell of.
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

    /// Whether the client's next words are of interest.
    var wantsRead: Bool { !isDeaf }

    /// Requests that came while too many were open.
    package var refusedStreams: Int { session.refusedStreams }

    /// Whether requests are delivered before their bodies came.
    package var deliversEarly: Bool {
        get { session.deliversEarly }
        set { session.deliversEarly = newValue }
    }

    /// Answers a request; nothing happens where the client gave it up.
    package func answer(_ stream: Int32, _ answer: ServerAnswer) { session.answer(stream, answer) }

    /// Ends a request without an answer, with a code of RFC 9113 section 7.
    package func reset(_ stream: Int32, code: UInt32) { session.reset(stream, code: code) }

    /// Announces how many requests may be open from now on.
    package func allow(streams: Int) { session.allow(streams: UInt32(clamping: streams)) }

    /// Says that no request above the stream `last` was or will be processed.
    ///
    /// - Parameter closing: whether the connection ends as soon as that is said; otherwise it ends when
    ///   all requests up to `last` are answered.
    package func goAway(last: Int32, code: UInt32, debugData: [UInt8], closing: Bool) {
        session.goAway(last: last, code: code, debugData: debugData)
        endsWhenWritten = closing
    }

    /// Ends the connection at once.
    ///
    /// - Parameter resetting: whether the client gets a TCP reset.
    package func drop(resetting: Bool = false) {
        if resetting { stream?.resetAtEnd() }
        isClosed = true
        stream = nil
    }

    func takeRequests() -> [ServerRequest] {
        let requests = session.requests
        session.requests = []
        return requests
    }

    /// Reads what has come, up to a megabyte: other connections wait, too.
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

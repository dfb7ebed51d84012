import Turnstone
import Unix

/// One connection to an HTTP/2 server, for many requests at once.
///
/// Only two calls wait: ``wait(for:upTo:)``, for as long as the caller says, and the initialiser for the
/// resolver.
///
/// The caller's loop: ``submit(tag:_:body:now:)``, ``wait(for:upTo:)``, ``step(now:)``, ``takeEvents()``.
/// `now` is always the monotonic clock.
package final class ClientConnection {
    package enum State: Equatable, Sendable {
        case connecting
        /// Requests can be submitted.
        case open
        /// The server takes no more requests but answers those that it has.
        case ending
        /// The reason, in a few words.
        case closed(String)
    }

    package private(set) var state = State.connecting
    private let host: String
    private let context: TLSContext
    private let session: ClientSession
    private var addresses: ArraySlice<SocketAddress>
    private var stream: TLSStream?
    private var isHandshaking = false
    /// Whether the connection waits to write, in addition to reading.
    private var wantsWrite = true
    /// Why nothing more can be sent.
    private var writeFault: String?
    private var deadline: Instant
    private var lastReceived: Instant
    private var pingDeadline: Instant?
    private let input: UnsafeMutableRawBufferPointer
    private var output = OutputBuffer()

    /// Resolves the host's name and starts to connect.
    ///
    /// - Throws: a failure that may be retried, if the name cannot be resolved.
    package init(
        to host: String, port: UInt16, _ context: TLSContext, limits: ClientLimits = ClientLimits(),
        now: Instant
    ) throws(Failure) {
        self.host = host
        self.context = context
        session = try ClientSession(limits)
        do throws(SystemError) {
            addresses = try SocketAddress.resolve(host, port: port)[...]
        } catch {
            throw Failure(.later(seconds: 5), "unable to resolve \(host)", cause: error.errno.name)
        }
        deadline = now + limits.connect
        lastReceived = now
        // After everything that may throw: without a complete object, `deinit` would not free it.
        input = .allocate(byteCount: 16_384, alignment: 16)
        connectToNext("no address")
    }

    deinit { input.deallocate() }

    // MARK: Requests

    /// The number of requests that the server allows at once; 0 until it has announced one.
    package var maximumStreams: Int { session.maximumStreams }

    /// The number of bytes of bodies that the server's window has room for, beyond those already submitted.
    package var credit: Int { max(0, session.credit) }

    /// The number of requests that have no event yet.
    package var openRequests: Int { session.openRequests }

    package var goAway: GoAway? { session.goAway }

    /// Queues a request; ``flush()``, ``step(now:)`` or ``wait(for:upTo:)`` sends it.
    ///
    /// - Parameters:
    ///   - tag: returned with the request's event.
    ///   - fields: `:method`, `:scheme`, `:authority` and `:path` first.
    /// - Returns: whether an event will follow. If not, nothing was sent: the connection takes no more
    ///   requests, or none until the server has made room for the body.
    package func submit(tag: Int, _ fields: HeaderFields, body: [UInt8], now: Instant) -> Bool {
        guard state == .open, session.unwritten == 0 || body.count <= session.credit else {
            return false
        }
        return session.submit(tag: tag, fields, body: body, now: now)
    }

    /// Returns the events since the last call.
    package func takeEvents() -> [ClientEvent] {
        let events = session.events
        session.events = []
        return events
    }

    /// Closes the connection; requests without an answer are lost.
    package func close(_ reason: String = "closed by us") {
        if case .closed = state { return }
        if state == .open, !isHandshaking {
            session.endRequests()
            flush()
            stream?.shutDown()
        }
        fail(reason)
    }

    // MARK: Time

    /// Waits until one of the connections has something to do, or the time is up. Submitted requests are sent
    /// first.
    package static func wait(for connections: [ClientConnection], upTo pause: Interval) {
        // The connections own the descriptors.
        defer { withExtendedLifetime(connections) {} }
        var polled = PollSet()
        for connection in connections {
            connection.flush()
            if !connection.session.events.isEmpty { return }
            guard let number = connection.stream?.number else { continue }
            polled.add(number, write: connection.wantsWrite)
        }
        polled.wait(for: pause)
    }

    /// Does everything that can be done without waiting.
    ///
    /// - Returns: when it must be called again at the latest, even if nothing arrives.
    @discardableResult
    package func step(now: Instant) -> Instant {
        switch state {
        case .connecting: connect(now: now)
        case .open, .ending: exchange(now: now)
        case .closed: break
        }
        return nextDeadline(now: now)
    }

    private func nextDeadline(now: Instant) -> Instant {
        switch state {
        case .connecting: return deadline
        case .closed: return now
        case .open, .ending:
            var silence =
                session.openRequests > 0 ? session.limits.silence : session.limits.idleness
            if writeFault != nil { silence = session.limits.ping }
            let sign = pingDeadline ?? lastReceived + silence
            if sign <= now { checkLiveness(now: now) }
            return min(session.expire(now: now) ?? .last, pingDeadline ?? lastReceived + silence)
        }
    }

    private func checkLiveness(now: Instant) {
        if let writeFault { return fail(writeFault) }
        if pingDeadline != nil { return fail("the server does not answer a PING") }
        pingDeadline = now + session.limits.ping
        session.ping()
    }

    // MARK: Connecting

    private func connectToNext(_ reason: String) {
        isHandshaking = false
        wantsWrite = true
        var reason = reason
        while let address = addresses.popFirst() {
            let socket: Socket
            do throws(SystemError) { socket = try .connect(to: address) } catch {
                reason = error.errno.name
                continue
            }
            do throws(Failure) {
                stream = try .connecting(socket, to: host, context)
                return
            } catch { reason = error.sentence }
        }
        fail(reason)
    }

    private func connect(now: Instant) {
        guard now < deadline else { return fail("time-out while connecting") }
        if !isHandshaking {
            guard isWritable else { return }
            if let fault = stream?.fault { return connectToNext(fault.name) }
            isHandshaking = true
        }
        switch stream?.handshake() {
        case .moved:
            isHandshaking = false
            state = .open
            lastReceived = now
            exchange(now: now)
        case .wantsRead: wantsWrite = false
        case .wantsWrite: wantsWrite = true
        case .closed: fail("the server ended the TLS handshake")
        case .failed(let reason): fail(reason)
        case nil: break
        }
    }

    private var isWritable: Bool {
        defer { withExtendedLifetime(self) {} }
        guard let number = stream?.number else { return false }
        var polled = PollSet()
        let place = polled.add(number, read: false, write: true)
        polled.wait(for: .seconds(0))
        return polled.canWrite(place)
    }

    // MARK: Exchanging

    private func exchange(now: Instant) {
        receive(now: now)
        flush()
        // The server's last messages may still be on their way: a GOAWAY and answers.
        if let writeFault {
            receive(now: now)
            if session.openRequests == 0 { fail(writeFault) }
        }
        if session.goAway != nil, state == .open { state = .ending }
        if session.isDone { fail(reasonOfEnd("ended")) }
    }

    /// Why the server ends the connection. It may close it after a GOAWAY, or leave that to us.
    private func reasonOfEnd(_ reason: String) -> String {
        session.goAway == nil ? reason : "the server sent GOAWAY"
    }

    private func receive(now: Instant) {
        defer { withExtendedLifetime(self) {} }
        while true {
            switch stream?.read(into: input) {
            case .moved(let count):
                lastReceived = now
                pingDeadline = nil
                let bytes = UnsafeRawBufferPointer(rebasing: input[..<count])
                if let reason = session.receive(bytes) { return fail(reason) }
                if stream?.hasBuffered != true { return }
            case .wantsRead, .wantsWrite, nil: return
            case .closed: return fail(reasonOfEnd("the server closed the connection"))
            case .failed(let reason): return fail(reason)
            }
        }
    }

    /// Sends submitted requests, as far as the socket takes them.
    package func flush() {
        defer { withExtendedLifetime(self) {} }
        guard state == .open || state == .ending, writeFault == nil else { return }
        wantsWrite = false
        while true {
            output.fill(from: session.nextOutput)
            if output.isEmpty { return }
            switch stream?.write(output.bytes) {
            case .moved(let count): output.drop(count)
            case .wantsRead, nil: return
            case .wantsWrite:
                wantsWrite = true
                return
            case .closed: return endWriting(reasonOfEnd("the server closed the connection"))
            case .failed(let reason): return endWriting(reason)
            }
        }
    }

    /// Records that nothing more can be sent. Answers may still come.
    private func endWriting(_ reason: String) {
        writeFault = reason
        if state == .open { state = .ending }
    }

    private func fail(_ reason: String) {
        defer { withExtendedLifetime(self) {} }
        if case .closed = state { return }
        state = .closed(reason)
        stream = nil
        session.loseAll(reason)
    }
}

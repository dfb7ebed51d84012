import HTTP2
import Turnstone
import Unix

/// An HTTP/2 server on loopback for many clients at once, which runs in the caller's thread.
///
/// The caller's loop: ``wait(for:also:)``, ``takeRequests()``, then an answer to each request through its
/// connection.
package final class Server {
    private let context: TLSContext
    private var listeners: [Listener] = []
    package private(set) var connections: [ServerConnection] = []
    private var accepted = 0
    private var polled = PollSet()
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 16_384, alignment: 16)
    private var counts: [(accepted: Int, refusedStreams: Int)] = []

    /// A listening socket, wrapped in a class so that an array can hold it.
    private final class Listener {
        let socket: Socket
        let limits: ServerLimits
        /// Faults for the next clients, in their order.
        var handshakeFaults: [HandshakeFault] = []

        init(_ socket: consuming Socket, _ limits: ServerLimits) {
            self.socket = socket
            self.limits = limits
        }
    }

    package init(_ context: TLSContext) {
        self.context = context
    }

    deinit { buffer.deallocate() }

    /// Listens on 127.0.0.1; `port` 0 picks a free port.
    ///
    /// - Returns: the port.
    package func listen(port: UInt16, _ limits: ServerLimits) throws(Failure) -> UInt16 {
        do throws(SystemError) {
            let socket = try Socket.listen(port: port)
            let chosen = socket.port
            listeners.append(Listener(socket, limits))
            counts.append((0, 0))
            return chosen
        } catch { throw error.failure }
    }

    /// The number of ports that it listens on.
    package var listenerCount: Int { listeners.count }

    /// Writes pending output, waits until something arrives or the time is up, and reads it.
    ///
    /// - Parameter other: one of the caller's descriptors to wait for as well.
    /// - Returns: whether `other` is readable.
    package func wait(for pause: Interval?, also other: Int32?) -> Bool {
        defer { withExtendedLifetime(self) {} }
        for connection in connections { connection.flush() }
        removeClosed()
        polled.removeAll()
        for listener in listeners { polled.add(listener.socket.number) }
        for connection in connections {
            // A broken connection is always ready. If we are deaf to it, polling it would only spin.
            let isPolled = connection.wantsRead || connection.wantsWrite
            polled.add(
                isPolled ? connection.descriptor ?? -1 : -1, read: connection.wantsRead,
                write: connection.wantsWrite)
        }
        let place = other.map { polled.add($0) }
        let hasMore = connections.contains { $0.hasMore && $0.wantsRead }
        polled.wait(for: hasMore ? .seconds(0) : pause)
        // Read before new connections are added: indexes refer to the polled ones.
        for (index, connection) in connections.enumerated()
        where connection.wantsRead
            && (connection.hasMore || polled.canRead(listeners.count + index))
        {
            connection.receive(buffer)
        }
        for (index, listener) in listeners.enumerated() where polled.canRead(index) {
            accept(index, listener)
        }
        return place.map { polled.canRead($0) } ?? false
    }

    private func removeClosed() {
        for connection in connections where connection.isClosed {
            counts[connection.listener].refusedStreams += connection.refusedStreams
        }
        connections.removeAll { $0.isClosed }
    }

    /// The number of clients that have connected to a port. `listener` counts the calls of
    /// ``listen(port:_:)`` from 0.
    package func accepted(listener: Int) -> Int { counts[listener].accepted }

    /// The number of requests to a port that came while too many were open on their connection.
    package func refusedStreams(listener: Int) -> Int {
        connections.filter { $0.listener == listener && !$0.isClosed }
            .reduce(counts[listener].refusedStreams) { $0 + $1.refusedStreams }
    }

    /// The number of requests to a port that are not answered yet.
    package func openStreams(listener: Int) -> Int {
        connections.filter { $0.listener == listener && !$0.isClosed }
            .reduce(0) { $0 + $1.openStreams }
    }

    private func accept(_ index: Int, _ listener: Listener) {
        while true {
            do throws(SystemError) {
                guard let socket = try listener.socket.accept() else { return }
                add(socket, index, listener.limits)
            } catch { return }  // out of descriptors: the client waits in the queue
        }
    }

    /// Makes the TLS handshakes of a port's next clients fail.
    package func failHandshakes(listener: Int, _ fault: HandshakeFault, count: Int) {
        listeners[listener].handshakeFaults += Array(repeating: fault, count: count)
    }

    /// Ends ``failHandshakes(listener:_:count:)``.
    package func clearHandshakeFaults(listener: Int) { listeners[listener].handshakeFaults = [] }

    private func add(_ socket: consuming Socket, _ index: Int, _ limits: ServerLimits) {
        let faults = listeners[index].handshakeFaults
        if !faults.isEmpty { listeners[index].handshakeFaults.removeFirst() }
        accepted += 1
        counts[index].accepted += 1
        do throws(Failure) {
            let stream = try TLSStream.accepted(socket, context)
            let connection = try ServerConnection(
                accepted, listener: index, stream, limits, handshakeFault: faults.first)
            connections.append(connection)
        } catch {}  // the client sees its connection closed
    }

    /// Returns the requests since the last call, each with its connection.
    package func takeRequests() -> [(connection: ServerConnection, request: ServerRequest)] {
        var taken: [(ServerConnection, ServerRequest)] = []
        for connection in connections {
            for request in connection.takeRequests() { taken.append((connection, request)) }
        }
        return taken
    }
}

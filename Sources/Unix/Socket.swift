import CUnix

/// A TCP socket that never blocks, closed when the value's life ends.
package struct Socket: ~Copyable {
    private let descriptor: FileDescriptor

    /// The descriptor, for ``PollSet``. The caller keeps the socket alive while it waits.
    package var number: Int32 { descriptor.number }

    private init(family: Int32) throws(SystemError) {
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let number = socket(family, kind, 0)
        guard number >= 0 else { throw SystemError("open", "socket") }
        descriptor = FileDescriptor(owning: number, path: "socket")
    }

    private init(owning number: Int32) {
        descriptor = FileDescriptor(owning: number, path: "socket")
    }

    /// Starts to connect.
    ///
    /// The connection is made when the socket is writable and ``fault`` is `nil`. C: `connect(2)`.
    package static func connect(to address: SocketAddress) throws(SystemError) -> Socket {
        let socket = try Socket(family: address.family)
        socket.sendWithoutDelay()
        let result = address.withPointer { address, length in
            retried { CUnix.connect(socket.number, address, length) }
        }
        guard result == 0 || Errno.current.rawValue == EINPROGRESS else {
            throw SystemError("connect", "socket")
        }
        return socket
    }

    /// Why connecting failed.
    ///
    /// C: `getsockopt(2)` with `SO_ERROR`.
    package var fault: Errno? {
        defer { withExtendedLifetime(self) {} }
        var error: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        getsockopt(number, SOL_SOCKET, SO_ERROR, &error, &length)
        return error == 0 ? nil : Errno(rawValue: error)
    }

    /// Listens on 127.0.0.1; `port` 0 picks a free port.
    ///
    /// C: `listen(2)`.
    package static func listen(port: UInt16 = 0) throws(SystemError) -> Socket {
        let address = SocketAddress.loopback(port)
        let socket = try Socket(family: address.family)
        var on: Int32 = 1
        setsockopt(
            socket.number, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
        guard address.withPointer({ bind(socket.number, $0, $1) }) == 0 else {
            throw SystemError("bind", "127.0.0.1:\(port)")
        }
        guard CUnix.listen(socket.number, 128) == 0 else {
            throw SystemError("listen", "127.0.0.1:\(port)")
        }
        return socket
    }

    /// The port of this end.
    ///
    /// C: `getsockname(2)`.
    package var port: UInt16 {
        defer { withExtendedLifetime(self) {} }
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        _ = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                getsockname(number, $0, &length)
            }
        }
        return UInt16(bigEndian: address.sin_port)
    }

    /// Accepts the next waiting connection; `nil` if there is none.
    ///
    /// C: `accept(2)`.
    package func accept() throws(SystemError) -> Socket? {
        defer { withExtendedLifetime(self) {} }
        let accepted = retried { CUnix.accept(number, nil, nil) }
        guard accepted >= 0 else {
            // A client may have left before it was accepted.
            if [EAGAIN, ECONNABORTED].contains(Errno.current.rawValue) { return nil }
            throw SystemError("accept", "socket")
        }
        let socket = Socket(owning: accepted)
        _ = cunix_fcntl(accepted, F_SETFL, Int(O_NONBLOCK))
        _ = cunix_fcntl(accepted, F_SETFD, Int(FD_CLOEXEC))
        socket.sendWithoutDelay()
        return socket
    }

    /// Writes as many of the bytes as the socket takes, bypassing the protocol that is spoken over it.
    ///
    /// C: `send(2)` with `MSG_NOSIGNAL`.
    package func send(_ bytes: [UInt8]) {
        defer { withExtendedLifetime(self) {} }
        _ = CUnix.send(number, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }

    /// Writes as many of the bytes as the socket takes now.
    ///
    /// C: `send(2)` with `MSG_NOSIGNAL`.
    ///
    /// - Returns: how many bytes were written.
    package func write(_ bytes: ArraySlice<UInt8>) throws(SystemError) -> Int {
        defer { withExtendedLifetime(self) {} }
        let count = bytes.withUnsafeBytes { buffer in
            retried { CUnix.send(number, buffer.baseAddress, buffer.count, Int32(MSG_NOSIGNAL)) }
        }
        guard count < 0 else { return count }
        guard Errno.current == .wouldBlock else { throw SystemError("write", "socket") }
        return 0
    }

    /// Reads up to `count` of the bytes that have arrived; an empty array at the end, `nil` if nothing has
    /// arrived.
    ///
    /// C: `recv(2)`.
    package func read(upTo count: Int) throws(SystemError) -> [UInt8]? {
        defer { withExtendedLifetime(self) {} }
        var result = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            result = retried { recv(number, buffer.baseAddress, count, 0) }
            filled = max(0, result)
        }
        guard result < 0 else { return bytes }
        guard Errno.current == .wouldBlock else { throw SystemError("read", "socket") }
        return nil
    }

    /// Discards the bytes that have arrived.
    ///
    /// C: `recv(2)`.
    package func discardInput() {
        defer { withExtendedLifetime(self) {} }
        var bytes = [UInt8](repeating: 0, count: 16_384)
        while recv(number, &bytes, bytes.count, 0) > 0 {}
    }

    /// Makes closing the socket send a TCP reset; unsent bytes are dropped.
    ///
    /// C: `setsockopt(2)` with `SO_LINGER`.
    package func resetOnClose() {
        defer { withExtendedLifetime(self) {} }
        var lingering = linger(l_onoff: 1, l_linger: 0)
        setsockopt(
            number, SOL_SOCKET, SO_LINGER, &lingering, socklen_t(MemoryLayout<linger>.size))
    }

    /// Turns off Nagle's algorithm: frames are already gathered before they are written, so waiting for more
    /// only costs time.
    private func sendWithoutDelay() {
        defer { withExtendedLifetime(self) {} }
        var on: Int32 = 1
        setsockopt(
            number, Int32(IPPROTO_TCP), TCP_NODELAY, &on,
            socklen_t(MemoryLayout<Int32>.size))
    }
}

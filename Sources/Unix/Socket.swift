import CUnix

/// Where a TCP connection can lead: one of the addresses that a host's name has.
package struct SocketAddress: Sendable {
    private var storage: sockaddr_storage
    private let length: socklen_t

    /// Asks the resolver, which may take seconds when its servers do not answer.
    ///
    /// C: `getaddrinfo(3)`.
    ///
    /// - Returns: at least one, in the order in which they should be tried.
    package static func resolve(
        _ host: String, port: UInt16
    ) throws(SystemError) -> [SocketAddress] {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let error = getaddrinfo(host, String(port), &hints, &list)
        defer { if let list { freeaddrinfo(list) } }
        // A name that is not known today may be known again soon, as any other trouble of the resolver.
        guard error == 0 else {
            throw SystemError("resolve", host, Errno(rawValue: EHOSTUNREACH))
        }
        var addresses: [SocketAddress] = []
        var next = list
        while let entry = next {
            addresses.append(SocketAddress(entry.pointee))
            next = entry.pointee.ai_next
        }
        return addresses
    }

    /// An address in numbers, such as `127.0.0.1`: no resolver is asked.
    ///
    /// C: `inet_pton(3)`.
    package init?(_ numbers: String, port: UInt16) {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        guard inet_pton(AF_INET, numbers, &address.sin_addr) == 1 else { return nil }
        self.init(address)
    }

    private init(_ entry: addrinfo) {
        storage = sockaddr_storage()
        length = entry.ai_addrlen
        withUnsafeMutableBytes(of: &storage) { bytes in
            bytes.copyMemory(
                from: UnsafeRawBufferPointer(start: entry.ai_addr, count: Int(entry.ai_addrlen)))
        }
    }

    fileprivate func withPointer<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result)
        -> Result
    {
        withUnsafePointer(to: storage) { storage in
            storage.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, length)
            }
        }
    }

    fileprivate var family: Int32 { Int32(storage.ss_family) }

    fileprivate static func loopback(_ port: UInt16) -> SocketAddress {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        return SocketAddress(address)
    }

    private init(_ address: sockaddr_in) {
        storage = sockaddr_storage()
        length = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutableBytes(of: &storage) { bytes in
            bytes.storeBytes(of: address, as: sockaddr_in.self)
        }
    }
}

/// A TCP socket that never blocks, closed when the value's life ends.
package struct Socket: ~Copyable {
    private let descriptor: FileDescriptor

    /// The descriptor, for ``PollSet``: whoever waits keeps the socket until then.
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

    /// Begins to connect.
    ///
    /// It is done when the socket can be written to and ``fault`` is `nil`. C: `connect(2)`.
    package static func connect(to address: SocketAddress) throws(SystemError) -> Socket {
        let socket = try Socket(family: address.family)
        socket.sendAtOnce()
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

    /// Listens on 127.0.0.1, on a port that is free when `port` is 0.
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

    /// The next connection that waits, if one does.
    ///
    /// C: `accept(2)`.
    package func accept() throws(SystemError) -> Socket? {
        defer { withExtendedLifetime(self) {} }
        let accepted = retried { CUnix.accept(number, nil, nil) }
        guard accepted >= 0 else {
            // A client that left before it was greeted is nobody's fault.
            if [EAGAIN, ECONNABORTED].contains(Errno.current.rawValue) { return nil }
            throw SystemError("accept", "socket")
        }
        let socket = Socket(owning: accepted)
        _ = cunix_fcntl(accepted, F_SETFL, Int(O_NONBLOCK))
        _ = cunix_fcntl(accepted, F_SETFD, Int(FD_CLOEXEC))
        socket.sendAtOnce()
        return socket
    }

    /// Writes bytes past whatever protocol is spoken over the socket, as many of them as it takes.
    ///
    /// C: `send(2)` with `MSG_NOSIGNAL`.
    package func send(_ bytes: [UInt8]) {
        defer { withExtendedLifetime(self) {} }
        _ = CUnix.send(number, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }

    /// Writes as many of the bytes as can be taken now.
    ///
    /// C: `send(2)` with `MSG_NOSIGNAL`.
    ///
    /// - Returns: how many that were.
    package func write(_ bytes: ArraySlice<UInt8>) throws(SystemError) -> Int {
        defer { withExtendedLifetime(self) {} }
        let count = bytes.withUnsafeBytes { buffer in
            retried { CUnix.send(number, buffer.baseAddress, buffer.count, Int32(MSG_NOSIGNAL)) }
        }
        guard count < 0 else { return count }
        guard Errno.current == .wouldBlock else { throw SystemError("write", "socket") }
        return 0
    }

    /// Reads what has arrived, up to `count` bytes; none at the end, `nil` where nothing has.
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

    /// Throws away what has arrived.
    ///
    /// C: `recv(2)`.
    package func discardInput() {
        defer { withExtendedLifetime(self) {} }
        var bytes = [UInt8](repeating: 0, count: 16_384)
        while recv(number, &bytes, bytes.count, 0) > 0 {}
    }

    /// Lets the socket's end be a TCP reset: what was not sent yet is dropped.
    ///
    /// C: `setsockopt(2)` with `SO_LINGER`.
    package func resetAtEnd() {
        defer { withExtendedLifetime(self) {} }
        var lingering = linger(l_onoff: 1, l_linger: 0)
        setsockopt(
            number, SOL_SOCKET, SO_LINGER, &lingering, socklen_t(MemoryLayout<linger>.size))
    }

    /// Frames are gathered before they are written, so that waiting for more would only cost time.
    private func sendAtOnce() {
        defer { withExtendedLifetime(self) {} }
        var on: Int32 = 1
        setsockopt(
            number, Int32(IPPROTO_TCP), TCP_NODELAY, &on,
            socklen_t(MemoryLayout<Int32>.size))
    }
}

import CUnix

/// An address that a TCP connection can be made to: one of those of a host's name.
package struct SocketAddress: Sendable {
    private var storage: sockaddr_storage
    private let length: socklen_t

    /// Resolves a host's name. This may take seconds if the name servers do not answer.
    ///
    /// C: `getaddrinfo(3)`.
    ///
    /// - Returns: at least one address, in the order to try them.
    package static func resolve(
        _ host: String, port: UInt16
    ) throws(SystemError) -> [SocketAddress] {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let error = getaddrinfo(host, String(port), &hints, &list)
        defer { if let list { freeaddrinfo(list) } }
        // All failures of the resolver count as temporary: even a name that is unknown now may be known soon.
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

    /// Parses a numeric IPv4 address, such as `127.0.0.1`, without the resolver.
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

    func withPointer<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result)
        -> Result
    {
        withUnsafePointer(to: storage) { storage in
            storage.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, length)
            }
        }
    }

    var family: Int32 { Int32(storage.ss_family) }

    static func loopback(_ port: UInt16) -> SocketAddress {
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

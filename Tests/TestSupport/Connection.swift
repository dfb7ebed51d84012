import Foundation
import Glibc
import Synchronization

/// One TCP connection to this machine, over which bytes go as they are given.
package final class Connection {
    private let socket: Int32

    /// `nil` where nobody listens.
    package init?(port: UInt16) {
        socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard socket >= 0 else { return nil }
        var address = sockaddr_in.loopback(port: port)
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { return nil }
        // A host that has stopped answering fails its test instead of holding it up.
        var patience = timeval(tv_sec: 30, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(socket, SOL_SOCKET, option, &patience, socklen_t(MemoryLayout<timeval>.size))
        }
    }

    deinit { if socket >= 0 { close(socket) } }

    /// Sends bytes. If the host has refused the request already, the bytes that it does not read are dropped.
    package func send(_ bytes: some Sequence<UInt8>) {
        let bytes = Array(bytes)
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return }
            sent += count
        }
    }

    /// Says that nothing more will be sent.
    package func endSending() { shutdown(socket, Int32(SHUT_WR)) }

    /// Whether something has arrived, or the host has closed the connection.
    package var hasAnswer: Bool {
        var waiting = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
        return poll(&waiting, 1, 0) > 0
    }

    /// All that arrives until the host closes the connection.
    package func receive() throws -> [UInt8] {
        var received: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(socket, &buffer, buffer.count, 0)
            if count > 0 { received += buffer[..<count] }
            if count == 0 || (count < 0 && errno == ECONNRESET) { return received }
            guard count > 0 else { throw TestFailure("the host has not answered: errno \(errno)") }
        }
    }

    /// The ports that were handed out. Their receivers may not listen yet.
    private static let given = Mutex<Set<UInt16>>([])

    /// A port of this machine that nobody uses, below those that the system gives out by itself.
    package static func freePort() throws -> UInt16 {
        for _ in 0..<100 {
            let port = UInt16.random(in: 20_000..<32_000)
            guard given.withLock({ $0.insert(port).inserted }) else { continue }
            let socket = Glibc.socket(
                AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
            defer { close(socket) }
            var address = sockaddr_in.loopback(port: port)
            let result = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            if result == 0 { return port }
        }
        throw TestFailure("no free port")
    }
}

extension sockaddr_in {
    fileprivate static func loopback(port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        return address
    }
}

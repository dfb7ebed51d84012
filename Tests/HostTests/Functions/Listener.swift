import Foundation
import Glibc
import TestSupport

/// An HTTP/1.1 server on loopback that closes each connection after one answer.
final class Listener: Sendable {
    struct Request: Sendable {
        let method: String
        let path: String
        /// Names in lower case.
        let headers: [String: String]
        let body: [UInt8]
    }

    let port: UInt16
    private let socket: Int32

    init() throws {
        socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let socket = socket
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, length) == 0 && listen(socket, 16) == 0
                    && getsockname(socket, $0, &length) == 0
            }
        }
        port = UInt16(bigEndian: address.sin_port)
        guard isBound else { throw TestFailure("unable to listen: errno \(errno)") }
    }

    deinit { close(socket) }

    /// Answers each request on a thread of its own, until ``stop()``. Malformed requests get no answer.
    func serve(_ answer: @escaping @Sendable (Request) -> [UInt8]) {
        let socket = socket
        Thread.detachNewThread {
            while true {
                let connection = accept(socket, nil, nil)
                guard connection >= 0 else { return }
                Thread.detachNewThread {
                    defer {
                        // Ends the connection even if a program that another test has just started inherited
                        // it.
                        shutdown(connection, Int32(SHUT_RDWR))
                        close(connection)
                    }
                    guard let request = read(connection) else { return }
                    write(answer(request), to: connection)
                }
            }
        }
    }

    /// Accepts no more.
    func stop() { shutdown(socket, Int32(SHUT_RDWR)) }
}

private func read(_ connection: Int32) -> Listener.Request? {
    var bytes: [UInt8] = []
    func more() -> Bool {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = recv(connection, &buffer, buffer.count, 0)
        if count > 0 { bytes += buffer[..<count] }
        return count > 0
    }
    let empty = Array("\r\n\r\n".utf8)
    while bytes.firstRange(of: empty) == nil { guard more() else { return nil } }
    let end = bytes.firstRange(of: empty)!
    let lines = String(decoding: bytes[..<end.lowerBound], as: UTF8.self)
        .components(separatedBy: "\r\n")
    let words = lines[0].split(separator: " ").map { String($0) }
    guard words.count == 3, words[2] == "HTTP/1.1" else { return nil }
    var headers: [String: String] = [:]
    for line in lines.dropFirst() {
        guard let colon = line.range(of: ": ") else { return nil }
        let name = line[..<colon.lowerBound].lowercased()
        guard headers.updateValue(String(line[colon.upperBound...]), forKey: name) == nil else {
            return nil
        }
    }
    guard headers["host"] != nil else { return nil }
    let length = headers["content-length"].map { Int($0) ?? -1 } ?? 0
    guard length >= 0, words[0] == "GET" || headers["content-length"] != nil else { return nil }
    while bytes.count < end.upperBound + length { guard more() else { return nil } }
    guard bytes.count == end.upperBound + length else { return nil }
    return Listener.Request(
        method: words[0], path: words[1], headers: headers, body: Array(bytes[end.upperBound...]))
}

private func write(_ bytes: [UInt8], to connection: Int32) {
    var sent = 0
    while sent < bytes.count {
        let count = bytes[sent...].withUnsafeBytes {
            Glibc.send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
        guard count > 0 else { return }
        sent += count
    }
}

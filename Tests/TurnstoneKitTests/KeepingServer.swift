import Foundation
import Glibc
import Synchronization

/// An HTTP/1.1 server on a free port of the loopback interface that keeps its connections. It answers the first
/// requests, and closes the connection of each later one after it has read it.
final class KeepingServer: Sendable {
    let base: String
    private let listener: Int32
    private let answers: Int
    private let seen = Mutex<[String]>([])

    /// - Parameter answers: how many requests are answered.
    init(answers: Int) throws {
        self.answers = answers
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let (socket, size) = (listener, length)
        let isBound = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, size) == 0 && getsockname(socket, $0, &length) == 0
            }
        }
        guard isBound, listen(socket, 128) == 0 else {
            close(socket)
            throw POSIXError(.EADDRNOTAVAIL)
        }
        base = "http://127.0.0.1:\(UInt16(bigEndian: address.sin_port))"
        Thread.detachNewThread { [weak self] in
            while true {
                let connection = accept(socket, nil, nil)
                guard connection >= 0 else { break }
                Thread.detachNewThread { [weak self] in
                    while self?.serve(connection) == true {}
                    close(connection)
                }
            }
            close(socket)
        }
    }

    /// Ends the listening.
    func end() { shutdown(listener, Int32(SHUT_RDWR)) }

    /// The first lines of all requests so far.
    var requests: [String] { seen.withLock { $0 } }

    /// Reads a request without a body, and answers it. False: the connection ends.
    private func serve(_ connection: Int32) -> Bool {
        var text: [UInt8] = []
        var byte: UInt8 = 0
        while !text.ends(with: "\r\n\r\n".utf8) {
            guard recv(connection, &byte, 1, 0) == 1 else { return false }
            text.append(byte)
        }
        let line = String(decoding: text.prefix { $0 != 13 }, as: UTF8.self)
        let number = seen.withLock {
            $0.append(line)
            return $0.count
        }
        guard number <= answers else { return false }
        let answer = Array("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}".utf8)
        return send(connection, answer, answer.count, Int32(MSG_NOSIGNAL)) == answer.count
    }
}

extension [UInt8] {
    fileprivate func ends(with end: some Collection<UInt8>) -> Bool {
        suffix(end.count).elementsEqual(end)
    }
}

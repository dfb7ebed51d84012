import Foundation
import Glibc
import Synchronization
import Unix

/// An HTTP/1.1 server on a free port of the loopback interface.
package final class LoopbackServer: Sendable {
    package struct Request: Sendable {
        package let method: String
        package let path: String
        /// Names in lower case.
        package let headers: [String: String]
    }

    package struct Answer: Sendable {
        package var status: Int
        package var headers: [String]
        package var body: [UInt8]
        /// The value of `Content-Length`, if it is not the body's length.
        package var promised: Int?
        /// Whether the body is followed by a byte from time to time, for as long as the client takes them.
        package var drips: Bool
        /// What is sent instead of all this, before the connection is closed.
        package var raw: [UInt8]?

        package init(
            status: Int = 200, headers: [String] = ["Content-Type: application/json"],
            body: [UInt8] = [], promised: Int? = nil, drips: Bool = false
        ) {
            self.status = status
            self.headers = headers
            self.body = body
            self.promised = promised
            self.drips = drips
        }

        package init(raw: [UInt8]) {
            self.init()
            self.raw = raw
        }
    }

    package let port: UInt16
    private let seen = Mutex<[Request]>([])
    private let isOver = Atomic<Bool>(false)
    private let keepsConnections: Bool
    private let respond: @Sendable (Request) -> Answer?

    /// Keeps the socket for the thread that listens.
    private final class Listener: @unchecked Sendable {
        let socket: Socket

        init() {
            do { socket = try Socket.listen() } catch { fatalError("\(error)") }
        }
    }

    /// - Parameters:
    ///   - keepsConnections: whether a connection takes further requests after an answer.
    ///   - respond: gives the answer to a request. Nil: the connection is closed.
    package init(
        keepsConnections: Bool = false, _ respond: @escaping @Sendable (Request) -> Answer?
    ) {
        self.keepsConnections = keepsConnections
        self.respond = respond
        let listener = Listener()
        port = listener.socket.port
        Thread.detachNewThread { [weak self] in
            while self?.isOver.load(ordering: .relaxed) == false {
                guard isReady(listener.socket.number, POLLIN, milliseconds: 20),
                    let connection = try? listener.socket.accept()
                else { continue }
                let number = dup(connection.number)
                Thread.detachNewThread { [weak self] in
                    while self?.serve(number) == true {}
                    close(number)
                }
            }
        }
    }

    /// Ends the listening.
    package func end() { isOver.store(true, ordering: .relaxed) }

    package var base: String { "http://127.0.0.1:\(port)" }

    /// All requests so far.
    package var requests: [Request] { seen.withLock { $0 } }

    /// Reads a request and answers it. False: the connection ends.
    private func serve(_ connection: Int32) -> Bool {
        guard let request = Self.request(from: connection) else { return false }
        seen.withLock { $0.append(request) }
        guard let answer = respond(request) else { return false }
        if let raw = answer.raw {
            Self.send(raw, to: connection)
            return false
        }
        var head = "HTTP/1.1 \(answer.status) Status\r\n"
        if !keepsConnections { head += "Connection: close\r\n" }
        head += "Content-Length: \(answer.promised ?? answer.body.count)\r\n"
        head += answer.headers.map { "\($0)\r\n" }.joined() + "\r\n"
        var isTaken = Self.send(Array(head.utf8) + answer.body, to: connection)
        while answer.drips, isTaken, !isOver.load(ordering: .relaxed) {
            usleep(50_000)
            isTaken = Self.send([UInt8(ascii: "x")], to: connection)
        }
        return keepsConnections && isTaken
    }

    private static func request(from connection: Int32) -> Request? {
        var text: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        func receive() -> Bool {
            guard isReady(connection, POLLIN) else { return false }
            let count = recv(connection, &buffer, buffer.count, 0)
            guard count > 0 else { return false }
            text += buffer[..<count]
            return true
        }
        let end = Array("\r\n\r\n".utf8)
        while text.firstRange(of: end) == nil { guard receive() else { return nil } }
        guard let head = text.firstRange(of: end) else { return nil }
        let lines = String(decoding: text[..<head.lowerBound], as: UTF8.self).split(
            separator: "\r\n")
        let words = lines.first?.split(separator: " ") ?? []
        guard words.count == 3 else { return nil }
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            headers[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces)
        }
        // A connection that is closed with something unread is reset, and its answer lost.
        let length = headers["content-length"].flatMap { Int($0) } ?? 0
        while text.count < head.upperBound + length { guard receive() else { return nil } }
        return Request(method: String(words[0]), path: String(words[1]), headers: headers)
    }

    /// Sends bytes. False: the client takes no more.
    @discardableResult
    private static func send(_ bytes: [UInt8], to connection: Int32) -> Bool {
        var done = 0
        while done < bytes.count {
            guard isReady(connection, POLLOUT) else { return false }
            let count = bytes.withUnsafeBytes {
                Glibc.send(
                    connection, $0.baseAddress! + done, bytes.count - done, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            done += count
        }
        return true
    }
}

/// Waits until a descriptor can be read or written.
private func isReady(_ number: Int32, _ events: some BinaryInteger, milliseconds: Int32 = 30_000)
    -> Bool
{
    var entry = pollfd(fd: number, events: Int16(events), revents: 0)
    return poll(&entry, 1, milliseconds) > 0
}

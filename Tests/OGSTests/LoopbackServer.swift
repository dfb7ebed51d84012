import Foundation
import Synchronization
import Unix

/// An HTTP/1.1 server on a free port of the loopback interface, one request a connection.
final class LoopbackServer: Sendable {
    struct Request: Sendable {
        let path: String
        /// Names in lower case.
        let headers: [String: String]
    }

    /// An answer. Without one, the connection is closed.
    struct Answer: Sendable {
        var status = 200
        var headers: [String] = ["Content-Type: application/json"]
        var body: [UInt8] = []
        /// The value of `Content-Length`, if it is not the body's length.
        var promised: Int?
    }

    let port: UInt16
    private let seen = Mutex<[Request]>([])
    private let isOver = Atomic<Bool>(false)
    private let respond: @Sendable (Request) -> Answer?

    /// Keeps the socket for the thread that listens.
    private final class Listener: @unchecked Sendable {
        let socket: Socket

        init() {
            do { socket = try Socket.listen() } catch { fatalError("\(error)") }
        }
    }

    init(_ respond: @escaping @Sendable (Request) -> Answer?) {
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
                    self?.serve(number)
                    close(number)
                }
            }
        }
    }

    /// Ends the listening.
    func end() { isOver.store(true, ordering: .relaxed) }

    var base: String { "http://127.0.0.1:\(port)" }

    /// All requests so far.
    var requests: [Request] { seen.withLock { $0 } }

    private func serve(_ connection: Int32) {
        guard let request = Self.request(from: connection) else { return }
        seen.withLock { $0.append(request) }
        guard let answer = respond(request) else { return }
        var head = "HTTP/1.1 \(answer.status) Status\r\nConnection: close\r\n"
        head += "Content-Length: \(answer.promised ?? answer.body.count)\r\n"
        head += answer.headers.map { "\($0)\r\n" }.joined() + "\r\n"
        Self.send(Array(head.utf8) + answer.body, to: connection)
    }

    private static func request(from connection: Int32) -> Request? {
        var text: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while !text.suffix(4).elementsEqual("\r\n\r\n".utf8) {
            guard isReady(connection, POLLIN) else { return nil }
            let count = recv(connection, &buffer, buffer.count, 0)
            guard count > 0 else { return nil }
            text += buffer[..<count]
        }
        let lines = String(decoding: text, as: UTF8.self).split(separator: "\r\n")
        let words = lines.first?.split(separator: " ") ?? []
        guard words.count == 3, words[0] == "GET" else { return nil }
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            headers[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces)
        }
        return Request(path: String(words[1]), headers: headers)
    }

    private static func send(_ bytes: [UInt8], to connection: Int32) {
        var done = 0
        while done < bytes.count, isReady(connection, POLLOUT) {
            let count = bytes.withUnsafeBytes {
                write(connection, $0.baseAddress! + done, bytes.count - done)
            }
            guard count > 0 else { return }
            done += count
        }
    }
}

/// Waits until a descriptor can be read or written.
private func isReady(_ number: Int32, _ events: some BinaryInteger, milliseconds: Int32 = 30_000)
    -> Bool
{
    var entry = pollfd(fd: number, events: Int16(events), revents: 0)
    return poll(&entry, 1, milliseconds) > 0
}

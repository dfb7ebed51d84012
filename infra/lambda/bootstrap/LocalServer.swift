import Turnstone
import Unix

/// An HTTP/1.1 server on this machine.
///
/// It is waited for without end: a function may be frozen for hours while it asks for the next event, and
/// when the server is gone so is the connection.
struct LocalServer {
    private let address: SocketAddress
    private let name: String

    /// - Parameter name: numbers and a port, such as `127.0.0.1:9001`.
    init?(_ name: String) {
        let parts = name.utf8.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
            .map { String(decoding: Array($0), as: UTF8.self) }
        guard parts.count == 2, let port = UInt16(parts[1]), port > 0,
            let address = SocketAddress(parts[0], port: port)
        else { return nil }
        self.address = address
        self.name = name
    }

    /// Sends a request over a connection of its own.
    func ask(
        _ method: String, _ path: String, headers: [(name: String, value: String)] = [],
        body: [UInt8] = []
    ) throws(Failure) -> HTTPAnswer {
        var head = "\(method) \(path) HTTP/1.1\r\nHost: \(name)\r\nConnection: close\r\n"
        for (name, value) in headers { head += "\(name): \(value)\r\n" }
        if method == "POST" {
            head += "Content-Type: application/json\r\nContent-Length: \(body.count)\r\n"
        }
        let bytes: [UInt8]
        do throws(SystemError) {
            bytes = try exchange(Array((head + "\r\n").utf8) + body)
        } catch {
            throw .runtime("unable to \(error.call) \(name): \(error.reason)")
        }
        guard let answer = HTTPAnswer(bytes) else {
            throw .runtime("it does not speak HTTP/1.1, or closed the connection early")
        }
        return answer
    }

    private func exchange(_ request: [UInt8]) throws(SystemError) -> [UInt8] {
        let socket = try Socket.connect(to: address)
        defer { withExtendedLifetime(socket) {} }
        var waiting = PollSet()
        func wait(write: Bool) {
            waiting.removeAll()
            waiting.add(socket.number, read: !write, write: write)
            waiting.wait(for: nil)
        }
        wait(write: true)
        if let fault = socket.fault { throw SystemError("connect", name, fault) }
        var rest = request[...]
        while !rest.isEmpty {
            rest = rest.dropFirst(try socket.write(rest))
            if !rest.isEmpty { wait(write: true) }
        }
        var received: [UInt8] = []
        while received.count <= limit {
            wait(write: false)
            guard let more = try socket.read(upTo: 65_536) else { continue }
            if more.isEmpty { return received }
            received += more
        }
        throw SystemError("read", name, .tooLarge)
    }
}

/// Lambda's events have up to 6 MB.
private let limit = 8 << 20

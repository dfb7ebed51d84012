import Foundation
import JSON
import TestSupport
import Turnstone

/// A strict stand-in for AWS Lambda's Runtime API: whatever a runtime must not do is a fault.
final class RuntimeAPI: @unchecked Sendable {
    /// The outcome of an event.
    enum Outcome: Equatable {
        case answer([UInt8])
        case error(type: String, message: String)
    }

    /// How the server answers "next".
    enum Manner: Sendable {
        case ordinary
        case inChunks
        /// These bytes, and then the end of the connection.
        case odd(String)
    }

    let address: String
    private let server: Listener
    private let manner: Manner
    private let lock = NSCondition()
    // All of these are under the lock.
    private var waiting: [(id: String, event: [UInt8], deadline: Int64)] = []
    private var given: String?
    private var outcomes: [String: Outcome] = [:]
    private var startError: Outcome?
    private var found: [String] = []
    private var count = 0
    private var isOver = false

    init(_ manner: Manner = .ordinary) throws {
        self.manner = manner
        server = try Listener()
        address = "127.0.0.1:\(server.port)"
        server.serve { [weak self] request in self?.answer(request) ?? [] }
    }

    deinit { server.stop() }

    /// Lets nobody wait any longer.
    func stop() {
        lock.withLock {
            isOver = true
            lock.broadcast()
        }
        server.stop()
    }

    /// The runtime's violations of the protocol.
    var faults: [String] { lock.withLock { found } }

    /// The runtime's error, if it did not ask for a first event.
    var initializationError: Outcome? { lock.withLock { startError } }

    /// Gives the runtime an event, and waits for its outcome.
    ///
    /// - Parameter timeLimit: the function's, in milliseconds.
    func invoke(_ event: [UInt8], timeLimit: Int64 = 30_000) throws -> Outcome {
        try lock.withLock {
            count += 1
            let id = "8476a536-e9f4-11e8-9739-\(String(format: "%012d", count))"
            let now = Int64(Date().timeIntervalSince1970 * 1000)
            waiting.append((id, event, now + timeLimit))
            lock.broadcast()
            let patience = Date(timeIntervalSinceNow: Double(timeLimit) / 1000 + 30)
            while outcomes[id] == nil {
                guard lock.wait(until: patience) else {
                    throw TestFailure(
                        "the runtime says nothing: \(found), \(String(describing: startError))")
                }
            }
            return outcomes.removeValue(forKey: id)!
        }
    }

    private func answer(_ request: Listener.Request) -> [UInt8] {
        let root = "/2018-06-01/runtime/"
        guard request.path.hasPrefix(root) else { return refuse("asks for \(request.path)") }
        let parts = request.path.dropFirst(root.count).split(separator: "/").map { String($0) }
        switch (request.method, parts.count, parts.last) {
        case ("GET", 2, "next") where parts[0] == "invocation": return next()
        case ("POST", 3, "response") where parts[0] == "invocation":
            return finish(parts[1], .answer(request.body))
        case ("POST", 3, "error") where parts[0] == "invocation":
            guard let error = error(request) else { return refuse("sends an odd error") }
            return finish(parts[1], error)
        case ("POST", 2, "error") where parts[0] == "init":
            guard let error = error(request) else { return refuse("sends an odd error") }
            lock.withLock { startError = error }
            return Self.accepted
        default: return refuse("asks for \(request.method) \(request.path)")
        }
    }

    private func next() -> [UInt8] {
        if case .odd(let text) = manner { return Array(text.utf8) }
        let invocation: (id: String, event: [UInt8], deadline: Int64)? = lock.withLock {
            if given != nil { found.append("asks for an event before the last one has an end") }
            while waiting.isEmpty, !isOver { lock.wait() }
            guard !isOver else { return nil }
            let first = waiting.removeFirst()
            given = first.id
            return first
        }
        guard let (id, event, deadline) = invocation else { return [] }
        let head = """
            HTTP/1.1 200 OK\r
            Content-Type: application/json\r
            Lambda-Runtime-Aws-Request-Id: \(id)\r
            Lambda-Runtime-Deadline-Ms: \(deadline)\r
            Lambda-Runtime-Invoked-Function-Arn: arn:aws:lambda:eu-central-1:123456789012:function:f\r
            Lambda-Runtime-Trace-Id: Root=1-5bef4de7-ad49b0e87f6ef6c87fc2e700\r

            """
        guard case .inChunks = manner else {
            return Array((head + "Content-Length: \(event.count)\r\n\r\n").utf8) + event
        }
        let half = event.count / 2
        let chunks = [event[..<half], event[half...]].filter { !$0.isEmpty }.flatMap {
            Array("\(String($0.count, radix: 16));x=y\r\n".utf8) + $0 + Array("\r\n".utf8)
        }
        return Array((head + "Transfer-Encoding: chunked\r\n\r\n").utf8) + chunks
            + Array("0\r\n\r\n".utf8)
    }

    private func finish(_ id: String, _ outcome: Outcome) -> [UInt8] {
        lock.withLock {
            if id != given { found.append("answers \(id), which it does not have") }
            given = nil
            outcomes[id] = outcome
            lock.broadcast()
        }
        return Self.accepted
    }

    private func error(_ request: Listener.Request) -> Outcome? {
        guard let members = try? JSON.parse(request.body).object,
            let type = members["errorType"]?.string, let text = members["errorMessage"]?.string,
            request.headers["lambda-runtime-function-error-type"] == type
        else { return nil }
        return .error(type: type, message: text)
    }

    private func refuse(_ fault: String) -> [UInt8] {
        lock.withLock { found.append(fault) }
        return Array("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n".utf8)
    }

    private static let accepted = Array(
        "HTTP/1.1 202 Accepted\r\nContent-Length: 16\r\n\r\n{\"status\":\"OK\"}\n".utf8)
}

import Foundation
import JSON
import Turnstone

/// A running host with our programs behind it, a configuration file and a state folder.
package final class Site: FixtureSite {
    package let host: Host
    private let programs: String
    private let changes: [String: String]
    private let workers: Int
    package let folder = TemporaryFolder()
    /// The programs' state folder, replaced by ``install(_:)``.
    package var state = TemporaryFolder()
    private var processes: HostProcesses?
    private var ports: [String: UInt16] = [:]

    /// - Parameters:
    ///   - programs: the folder with the programs to serve.
    ///   - changes: texts of the server's configuration, and their replacements.
    ///   - workers: how many programs run at a time behind nginx.
    package init(
        _ host: Host, programs: String = Programs.folder, replacing changes: [String: String] = [:],
        workers: Int = 2
    ) throws {
        self.host = host
        self.programs = programs
        self.changes = changes
        self.workers = workers
        try install()
        // The port that was free may be taken a moment later: another then.
        for _ in 0..<3 where processes == nil { try start() }
        guard processes != nil else {
            throw TestFailure("\(host.rawValue) does not start: \(logs)")
        }
    }

    /// The host's log, for failures.
    package var logs: String {
        folder.files().filter { $0.key.hasSuffix(".log") }
            .map { "\($0.key): \(String(decoding: $0.value, as: UTF8.self))" }.joined(
                separator: "\n")
    }

    /// The state folder's files but for locks, which a refused request may have made.
    package var documents: [String: [UInt8]] {
        state.files().filter { !$0.key.hasSuffix(".lock") }
    }

    /// Where the host serves a program: `http://127.0.0.1:49152`.
    package func address(of program: String) throws -> URL {
        guard let port = ports[program], let address = URL(string: "http://127.0.0.1:\(port)")
        else {
            throw TestFailure("\(host.rawValue) does not serve \(program)")
        }
        return address
    }

    package func connect(to program: String) throws -> Connection {
        guard let port = ports[program], let connection = Connection(port: port) else {
            throw TestFailure("\(host.rawValue) does not listen for \(program): \(logs)")
        }
        return connection
    }

    /// Sends a request and reads the answer to its end.
    package func answer(_ request: HostRequest, from program: String) throws -> HostAnswer {
        try answer(request.bytes, from: program)
    }

    package func answer(_ bytes: [UInt8], from program: String) throws -> HostAnswer {
        let connection = try connect(to: program)
        connection.send(bytes)
        return try HostAnswer(connection.receive())
    }

    private func start() throws {
        let setup = try HostSetup(
            host, in: folder, programs: programs, replacing: changes, workers: workers)
        ports = setup.ports
        let started = try HostProcesses(
            setup.commands, in: folder.path,
            variables: [
                "PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "TURNSTONE_CONFIG": configurationPath,
            ], log: "\(folder.path)/host.log")
        for _ in 0..<500 {
            if Set(ports.values).allSatisfy({ Connection(port: $0) != nil }), setup.isComplete {
                processes = started
                return
            }
            usleep(10_000)
        }
    }
}

/// An HTTP/1.1 request as text.
package struct HostRequest: Sendable {
    package var method: String
    package var target: String
    package var headers: [(String, String)]
    package var body: [UInt8]

    package init(
        method: String = "GET", target: String, headers: [(String, String)] = [],
        body: [UInt8] = []
    ) {
        self.method = method
        self.target = target
        self.headers = headers
        self.body = body
    }

    package var bytes: [UInt8] {
        let host = headers.contains { $0.0 == "Host" } ? "" : "Host: localhost\r\n"
        var head = "\(method) \(target) HTTP/1.1\r\n\(host)Connection: close\r\n"
        for (name, value) in headers { head += "\(name): \(value)\r\n" }
        if !body.isEmpty || ["POST", "PUT"].contains(method) {
            head += "Content-Length: \(body.count)\r\n"
        }
        return Array((head + "\r\n").utf8) + body
    }
}

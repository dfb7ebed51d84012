import Foundation
import TestSupport
import Testing
import Turnstone

/// A push service that only knows HTTP/1.1. It answers each message after 20 ms.
final class OldService {
    let origin: String
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()

    /// - Parameter service: whose certificate it has.
    init(like service: Service) throws {
        process.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
        process.arguments = ["-c", Self.program, service.simulator.folder.path]
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        let said = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        origin = "https://127.0.0.1:\(said.trimmingCharacters(in: .newlines))"
    }

    deinit {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }

    /// Ends it.
    ///
    /// - Returns: the number of connections that it has had.
    func end() throws -> Int {
        try input.fileHandleForWriting.close()
        let said = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return Int(String(decoding: said, as: UTF8.self).trimmingCharacters(in: .newlines)) ?? -1
    }

    private static let program = """
        import http.server, os, ssl, sys, threading, time
        connections = 0
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            def setup(self):
                global connections
                connections += 1
                super().setup()
            def do_POST(self):
                self.rfile.read(int(self.headers["content-length"]))
                time.sleep(0.02)
                self.send_response(201)
                self.send_header("content-length", "0")
                self.end_headers()
            def log_message(self, *_): pass
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[1] + "/server.pem", sys.argv[1] + "/server-key.pem")
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        print(server.server_port, flush=True)
        sys.stdin.read()
        print(connections, flush=True)
        os._exit(0)
        """
}

import HTTP2Server
import TestSupport
import Testing
import Turnstone
import Unix

@testable import HTTP2

/// A client and a scripted server, which take turns.
///
/// Time stands still unless a test moves it.
final class Stage {
    let server: ScriptedServer
    let client: ClientConnection
    var now = Instant(milliseconds: 1_000_000)
    var events: [ClientEvent] = []
    private let folder = TemporaryFolder()

    init(
        certificate: String = Certificates.good, trusted: String? = nil, host: String = "127.0.0.1",
        settings: [UInt8] = Frames.settings(), limits: ClientLimits = ClientLimits()
    ) throws {
        try folder.write(certificate, to: "certificate.pem")
        try folder.write(Certificates.key, to: "key.pem")
        try folder.write(trusted ?? certificate, to: "trusted.pem")
        server = try ScriptedServer(
            certificate: "\(folder.path)/certificate.pem", key: "\(folder.path)/key.pem")
        server.settings = settings
        client = try ClientConnection(
            to: host, port: server.port, try .client(authorities: "\(folder.path)/trusted.pem"),
            limits: limits,
            now: now)
    }

    /// Lets both go on until `isOver`.
    func play(
        _ location: SourceLocation = #_sourceLocation, until isOver: () -> Bool
    ) throws {
        for _ in 0..<20_000 {
            client.step(now: now)
            events += client.takeEvents()
            try server.step()
            if isOver() { return }
            ClientConnection.wait(for: [client], upTo: .milliseconds(1))
        }
        Issue.record("nothing came of it: \(client.state), \(events)", sourceLocation: location)
    }

    func open() throws {
        try play { client.state == .open && client.maximumStreams > 0 }
    }

    /// Submits requests with the tags from 1 on, which become the streams 1, 3, 5 and so on.
    func submit(_ count: Int, body: [UInt8] = Array("{}".utf8)) throws {
        for tag in 1...count {
            var fields = HeaderFields()
            fields.append(":method", "POST")
            fields.append(":scheme", "https")
            fields.append(":authority", "127.0.0.1")
            fields.append(":path", "/\(tag)", indexed: false)
            #expect(client.submit(tag: tag, fields, body: body, now: now))
        }
    }
}

extension ClientEvent {
    var tag: Int {
        switch self {
        case .answered(let tag, _), .refused(let tag), .lost(let tag, _): tag
        }
    }

    var answer: Answer? {
        if case .answered(_, let answer) = self { answer } else { nil }
    }

    var isLost: Bool {
        if case .lost = self { true } else { false }
    }
}

extension ClientConnection.State {
    var reason: String? {
        if case .closed(let reason) = self { reason } else { nil }
    }
}

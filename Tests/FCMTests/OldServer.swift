import Foundation
import HTTP2
import PushServices
import TestSupport
import Testing
import Turnstone

@testable import FCM

/// A token server that speaks TLS and HTTP/1.1, and takes no offer of HTTP/2: `openssl s_server`.
final class OldServer {
    private let process = Process()
    private let stage: SenderStage
    private let port: UInt16

    /// - Parameter stage: another server, whose certificate it has.
    init(like stage: SenderStage) throws {
        self.stage = stage
        port = try Connection.freePort()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [
            "openssl", "s_server", "-quiet", "-accept", "127.0.0.1:\(port)", "-alpn", "http/1.1",
            "-cert", "\(stage.folder.path)/server.pem", "-key", "\(stage.folder.path)/key.pem",
        ]
        process.standardInput = Pipe()
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        let end = Date().addingTimeInterval(20)
        while TestSupport.Connection(port: port) == nil, Date() < end { usleep(20_000) }
    }

    deinit {
        kill(process.processIdentifier, SIGKILL)  // it takes no SIGTERM while it waits for a client
        process.waitUntilExit()
    }

    func tokens() throws -> AccessTokens {
        let settings = try #require(
            try Accounts.settings(
                ["FCM_CA_FILE": "\(stage.folder.path)/ca.pem"],
                account: ["token_uri": .string("https://127.0.0.1:\(port)/token")]))
        return try AccessTokens(
            settings.account, .client(authorities: settings.authorities),
            stage.state.accessTokens(settings) { Timestamp.systemNow })
    }
}

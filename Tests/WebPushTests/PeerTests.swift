import JSON
import TestSupport
import Testing
import Turnstone

@testable import WebPush

/// Other people's implementations (`infra/checks/webpush`).
@Suite struct PeerTests {
    @Test("pywebpush pushes to the simulator, and http-ece reads our messages")
    func peers() async throws {
        let encryption = try MessageEncryption()
        var lines = ""
        for length in [0, 1, 255, 256, 3993] {
            let browser = try Browser()
            let message = [UInt8](repeating: UInt8(ascii: "a"), count: length)
            let body = try #require(try encryption.encrypt(message, for: browser.subscription))
            let line: JSONValue = [
                "message": .string(base64URL(message)), "body": .string(base64URL(body)),
                "private_key": .string(base64URL(browser.privateKey)),
                "auth": .string(base64URL(browser.subscription.secret)),
            ]
            lines += String(decoding: JSON.text(line), as: UTF8.self) + "\n"
        }
        let check = try await CheckScript(running: "webpush", input: lines)
        if let skipped = check.skipped { try Test.cancel("\(skipped)") }
        #expect(check.failures == [])
        #expect(check.isComplete, "\(check.output)")
        #expect(check.output.contains("ok http-ece reads our message 5"))
    }
}

import Drain
import TestSupport
import Testing
import Turnstone
import Unix

@testable import APNs

/// A sender and a scripted gateway, which take turns.
final class GatewayStage {
    let server: ScriptedServer
    let sender: APNsSender
    private(set) var verdicts: [Int: APNsVerdict] = [:]
    private let tokens: Tokens
    private let folder = TemporaryFolder()

    /// Provides the token that a test has set, and records the rejected tokens that it is called with.
    final class Tokens {
        var current = "one"
        var failure: Failure?
        var rejected: [String?] = []
    }

    init(tokens: Tokens = Tokens(), settings: [UInt8] = Frames.settings(streams: 100)) throws {
        try folder.write(Certificates.good, to: "ca.pem")
        try folder.write(Certificates.key, to: "key.pem")
        server = try ScriptedServer(
            certificate: "\(folder.path)/ca.pem", key: "\(folder.path)/key.pem")
        server.settings = settings
        let made = try Settings.made([
            "APNS_BASE_URL": "https://127.0.0.1:\(server.port)",
            "APNS_CA_FILE": "\(folder.path)/ca.pem",
        ])
        self.tokens = tokens
        sender = try APNsSender(#require(made)) { (rejected) throws(Failure) in
            tokens.rejected.append(rejected)
            if let failure = tokens.failure { throw failure }
            return ProviderToken(
                text: tokens.current, keyID: "ABC123DEFG", teamID: "TEAM123456",
                minted: Timestamp(seconds: 0), fingerprint: "")
        }
    }

    /// Submits pushes numbered from 1.
    func submit(_ count: Int) throws {
        let token = try #require(DeviceToken("ab12"))
        for number in 1...count {
            let payload = try APNsPayload(
                Payload(aps: ["alert": .string("Hello \(number)")]), type: .alert)
            let request = try APNsRequest(
                token: token, id: pushID(notification: "\(number)", token: token), payload: payload,
                bundle: "org.example.app", priority: 10)
            sender.submit(request, in: nil, for: Numbered(number))
        }
    }

    /// Lets the sender and the server take turns until `isOver` returns `true`.
    func play(
        _ location: SourceLocation = #_sourceLocation, until isOver: () -> Bool
    ) throws {
        for _ in 0..<20_000 {
            for settled in try sender.step(pause: .milliseconds(1)) {
                #expect(
                    verdicts[settled.number] == nil, "one verdict each", sourceLocation: location)
                verdicts[settled.number] = settled.verdict
            }
            try server.step()
            if isOver() { return }
        }
        Issue.record("not over after 20,000 turns; verdicts: \(verdicts)", sourceLocation: location)
    }

    /// The numbers of the pushes that came, in that order.
    var arrived: [Int] {
        server.frames.filter { $0.type == 0 }.compactMap { frame in
            let text = String(decoding: frame.payload, as: UTF8.self)
            return text.firstMatch(of: /Hello ([0-9]+)/).flatMap { Int($0.1) }
        }
    }

    var outcomes: [APNsOutcome?] { verdicts.sorted { $0.key < $1.key }.map(\.value.outcome) }
}

/// An object that stands for a push.
final class Numbered {
    let number: Int

    init(_ number: Int) { self.number = number }
}

extension APNsGateway.Settled {
    var number: Int { (push as? Numbered)?.number ?? 0 }
}

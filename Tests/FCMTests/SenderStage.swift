import Credentials
import HTTP2
import HTTP2Server
import JSON
import PushServices
import Store
import TestSupport
import Testing
import Turnstone
import Unix

@testable import FCM

/// A sender, and a server that stands in for FCM and the token server and does what a test says. They take
/// turns in the test's own thread.
final class SenderStage {
    let server: Server
    let sender: FCMSender
    let settings: FCMSettings
    let state: State
    private(set) var verdicts: [Int: FCMVerdict] = [:]
    /// The requests for messages, in their order, which the test answers.
    private(set) var requests: [(connection: ServerConnection, request: ServerRequest)] = []
    /// The number of requests for tokens.
    private(set) var fetches = 0
    /// The answer to each request for a token, if it is no success.
    var tokenAnswer: ServerAnswer?
    var answersTokens = true
    /// The number of requests for tokens that are met with GOAWAY.
    var tokenGoAways = 0
    let folder = TemporaryFolder()

    init(streams: UInt32 = 100, _ more: [String: String] = [:]) throws {
        let certificate = try ServerCertificate()
        try folder.write(certificate.authority, to: "ca.pem")
        try folder.write(certificate.certificate, to: "server.pem")
        try folder.write(certificate.key, to: "key.pem")
        server = Server(
            try .server(certificate: "\(folder.path)/server.pem", key: "\(folder.path)/key.pem"))
        var limits = ServerLimits()
        limits.streams = streams
        let port = try server.listen(port: 0, limits)
        let address = "https://127.0.0.1:\(port)"
        let variables = ["FCM_BASE_URL": address, "FCM_CA_FILE": "\(folder.path)/ca.pem"]
        settings = try #require(
            try Accounts.settings(
                variables.merging(more) { $1 },
                account: ["token_uri": .string("\(address)/token")]))
        var ground = Variables()
        ground.offer("TURNSTONE_STATE", "\(folder.path)/state")
        state = try State(ground)
        sender = try FCMSender(
            settings, store: state.accessTokens(settings) { Timestamp.systemNow })
    }

    /// Submits messages numbered from `first`.
    ///
    /// - Parameter device: the number of their device; by default each has its own.
    func submit(
        _ count: Int, from first: Int = 1, text: String = "Hello", to device: Int? = nil
    ) throws {
        let message = try FCMMessage(
            PushContent(
                type: .alert, priority: 10, collapseID: nil,
                payload: Payload(aps: ["alert": .string(text)])), id: "n1",
            expires: Timestamp.systemNow + .hours(1))
        for number in first..<(first + count) {
            let token = try #require(DeviceToken("token:\(device ?? number)", on: .android))
            sender.submit(
                FCMRequest(message, to: token, now: Timestamp.systemNow), for: Numbered(number))
        }
    }

    /// Lets FCM accept the first message, number 1: there is a connection then, and the token is proven.
    func begin() throws {
        try submit(1)
        try play { requests.count == 1 }
        answer(0)
        try play { sender.backlog == 0 }
    }

    /// Lets the sender and the server take turns until `isOver` returns `true`.
    func play(
        _ location: SourceLocation = #_sourceLocation, until isOver: () -> Bool
    ) throws {
        for _ in 0..<20_000 {
            for settled in try sender.step(pause: .milliseconds(1)) {
                let number = (settled.push as? Numbered)?.number ?? 0
                #expect(
                    verdicts[number] == nil, "one verdict each", sourceLocation: location)
                verdicts[number] = settled.verdict
            }
            turn()
            if isOver() { return }
        }
        Issue.record("not over after 20,000 turns; verdicts: \(verdicts)", sourceLocation: location)
    }

    /// Lets them take a few turns in which nothing is expected to happen.
    func pause() throws { for _ in 0..<30 { try play { true } } }

    private func turn() {
        _ = server.wait(for: .seconds(0), also: nil)
        for (connection, request) in server.takeRequests() {
            guard request.fields[":path"] == "/token" else {
                requests.append((connection, request))
                continue
            }
            fetches += 1
            if fetches <= tokenGoAways {
                connection.goAway(last: 0, code: 0, debugData: [], closing: false)
                continue
            }
            guard answersTokens else { continue }
            connection.answer(request.stream, tokenAnswer ?? granted(life: 3600))
        }
    }

    private func granted(life: Int64) -> ServerAnswer {
        let grant: JSONValue = [
            "access_token": .string("token-\(fetches)"), "token_type": "Bearer",
            "expires_in": .integer(life),
        ]
        return ServerAnswer(status: 200, body: JSON.text(grant))
    }

    /// Answers a request.
    func answer(
        _ number: Int, _ status: Int = 200, _ body: JSONValue = ["name": "m"],
        _ fields: [(String, String)] = []
    ) {
        let (connection, request) = requests[number]
        connection.answer(
            request.stream, ServerAnswer(status: status, fields, body: JSON.text(body)))
    }

    /// Answers all requests from one on, until each message has its verdict.
    func answerAll(from first: Int) throws {
        var next = first
        try play {
            while next < requests.count {
                answer(next)
                next += 1
            }
            return sender.backlog == 0
        }
    }

    /// The requests' bodies, which have no more than the device and the text.
    var bodies: [[UInt8]] { requests.map { $0.request.body } }

    func bearer(_ number: Int) -> String? { requests[number].request.fields["authorization"] }

    /// The connections on which messages came.
    var connections: Set<Int> { Set(requests.map { $0.connection.number }) }

    var outcomes: [FCMOutcome?] { verdicts.sorted { $0.key < $1.key }.map(\.value.outcome) }
}

/// An object that stands for a push.
final class Numbered {
    let number: Int

    init(_ number: Int) { self.number = number }
}

/// An error as FCM words it.
func fcmError(_ status: Int, code: String? = nil, info: String? = nil) -> JSONValue {
    var details: [JSONValue] = []
    if let code {
        details.append([
            "@type": "type.googleapis.com/google.firebase.fcm.v1.FcmError",
            "errorCode": .string(code),
        ])
    }
    if let info {
        details.append([
            "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": .string(info),
        ])
    }
    return ["error": ["code": .integer(Int64(status)), "details": .array(details)]]
}

import HTTP2
import JSON
import Signatures
import TestSupport
import Turnstone
import Unix

/// A simulator that stands in for FCM, and a client with an access token.
struct FCMStage {
    let simulator: Simulator
    let client: Client
    private let account: JSONObject

    init(_ options: [String] = []) throws {
        simulator = try Simulator(["--services", "apns,fcm"] + options)
        client = try Client(simulator, .fcm)
        let path = simulator.addresses["service_account"]?.string ?? ""
        account = try JSON.parse(Files.contents(path) ?? []).object ?? [:]
    }

    /// An assertion, good unless a test changes it.
    struct Assertion {
        var header: JSONObject
        var claims: JSONObject
        var signature: ([UInt8]) -> [UInt8] = { $0 }
    }

    var assertion: Assertion {
        let now = Timestamp.systemNow.seconds
        return Assertion(
            header: ["alg": "RS256", "typ": "JWT", "kid": account["private_key_id"] ?? .null],
            claims: [
                "iss": account["client_email"] ?? .null,
                "scope": "https://www.googleapis.com/auth/firebase.messaging",
                "aud": account["token_uri"] ?? .null, "iat": .integer(now),
                "exp": .integer(now + 3600),
            ])
    }

    /// Asks for an access token.
    func fetch(
        _ assertion: Assertion, grant: String = "urn:ietf:params:oauth:grant-type:jwt-bearer"
    ) throws -> ClientEvent.Answer {
        let pem = account["private_key"]?.string ?? ""
        let key = try RS256PrivateKey(pem: Array(pem.utf8))
        let head =
            base64URL(JSON.text(.object(assertion.header))) + "."
            + base64URL(JSON.text(.object(assertion.claims)))
        let text = head + "." + base64URL(assertion.signature(try key.sign(Array(head.utf8))))
        let type = grant.split(separator: ":").joined(separator: "%3A")
        return try client.answer(
            [
                (":method", "POST"), (":scheme", "https"), (":authority", "127.0.0.1"),
                (":path", "/token"), ("content-type", "application/x-www-form-urlencoded"),
            ], body: "grant_type=\(type)&assertion=\(text)")
    }

    func token() throws -> String {
        guard let token = try fetch(assertion).json?["access_token"]?.string else {
            throw TestFailure("no access token")
        }
        return token
    }

    /// A request with a message, whose fields a test may change.
    func fields(_ token: String, _ changes: [String: String?] = [:]) -> [(String, String)] {
        var fields: [(String, String?)] = [
            (":method", "POST"), (":scheme", "https"), (":authority", "127.0.0.1"),
            (":path", "/v1/projects/turnstone-simulator/messages:send"),
            ("authorization", "Bearer \(token)"), ("content-type", "application/json"),
        ]
        for (name, value) in changes {
            let place = fields.firstIndex { $0.0 == name }
            if let place { fields[place].1 = value } else { fields.append((name, value)) }
        }
        return fields.compactMap { name, value in value.map { (name, $0) } }
    }

    /// Sends a message and returns its answer.
    func send(_ message: JSONValue, _ token: String) throws -> ClientEvent.Answer {
        let body = String(decoding: JSON.text(["message": message]), as: UTF8.self)
        return try client.answer(fields(token), body: body)
    }

    /// FCM's part of the report.
    func report() throws -> JSONObject {
        try simulator.perform(["do": "report"])["fcm"]?.object ?? [:]
    }
}

extension ClientEvent.Answer {
    private var details: [JSONObject] {
        json?["error"]?.object?["details"]?.array?.compactMap(\.object) ?? []
    }

    /// FCM's own error code.
    var fcmCode: String? { details.compactMap { $0["errorCode"]?.string }.first }

    /// The field that a `BadRequest` names.
    var badField: String? {
        details.compactMap { $0["fieldViolations"]?.array?.first?.object?["field"]?.string }.first
    }

    /// The reason of an `ErrorInfo`.
    var info: String? { details.compactMap { $0["reason"]?.string }.first }
}

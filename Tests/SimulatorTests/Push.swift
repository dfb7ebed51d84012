import Crypto
import JSON
import Signatures
import TestSupport
import Turnstone
import Unix

/// A push, good unless a test changes it.
struct Push {
    static let device = String(repeating: "ab", count: 32)
    static let body = #"{"aps":{"alert":"Your turn"}}"#

    var fields: [(String, String)]
    var body = Push.body

    init(_ simulator: Simulator, device: String = Push.device, bearer: String? = nil) throws {
        let topic = simulator.addresses["bundle_id"]?.string ?? ""
        fields = [
            (":method", "POST"), (":scheme", "https"), (":authority", "127.0.0.1"),
            (":path", "/3/device/\(device)"), ("apns-push-type", "alert"),
            ("apns-topic", topic), ("apns-priority", "10"),
            ("apns-id", "0a1b2c3d-0000-4000-8000-0123456789ab"),
            ("authorization", try bearer ?? Bearer(simulator).text()),
        ]
    }

    /// A field's value, in its place; `nil` takes the field away.
    subscript(name: String) -> String? {
        get { fields.first { $0.0 == name }?.1 }
        set {
            let place = fields.firstIndex { $0.0 == name }
            switch (place, newValue) {
            case (let place?, let value?): fields[place].1 = value
            case (let place?, nil): fields.remove(at: place)
            case (nil, let value?): fields.append((name, value))
            case (nil, nil): break
            }
        }
    }
}

/// A provider token, good unless a test changes it.
struct Bearer {
    private let key: ES256PrivateKey
    var header: JSONValue
    var claims: JSONValue
    var scheme = "bearer "
    var signature: ([UInt8]) -> [UInt8] = { $0 }

    /// - Parameter age: seconds since it was made.
    init(_ simulator: Simulator, age: Int64 = 0, key path: String? = nil) throws {
        let addresses = simulator.addresses
        let file = path ?? addresses["apns_key"]?.string ?? ""
        key = try ES256PrivateKey(pem: Files.contents(file) ?? [])
        header = ["alg": "ES256", "kid": addresses["key_id"] ?? .null]
        let issued = Timestamp.systemNow.seconds - age
        claims = ["iss": addresses["team_id"] ?? .null, "iat": .integer(issued)]
    }

    func text() throws -> String {
        let head = base64URL(JSON.text(header)) + "." + base64URL(JSON.text(claims))
        return scheme + head + "." + base64URL(signature(try key.sign(Array(head.utf8))))
    }
}

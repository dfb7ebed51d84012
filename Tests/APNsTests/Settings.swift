import PushServices
import Signatures
import Turnstone

@testable import APNs

/// Valid settings, for a gateway that does not exist.
enum Settings {
    static func variables(_ changes: [String: String?] = [:]) throws -> Variables {
        var values: [String: String?] = [
            "APNS_KEY": base64(try ES256PrivateKey.generate().pem),
            "APNS_KEY_ID": "ABC123DEFG",
            "APNS_TEAM_ID": "TEAM123456",
            "APNS_BUNDLE_ID": "org.example.app",
        ]
        for (name, value) in changes { values[name] = value }
        var variables = Variables()
        for (name, value) in values { if let value { variables.offer(name, value) } }
        return variables
    }

    static func made(_ changes: [String: String?] = [:]) throws -> APNsSettings? {
        try APNsSettings(variables(changes))
    }
}

import JSON
import PushServices
import Signatures
import Turnstone

@testable import FCM

/// A service account for tests, and settings that name it.
enum Accounts {
    static let key = try! RS256PrivateKey.generate().pem

    /// - Parameter changes: members with other values; `nil` removes one.
    static func json(_ changes: [String: JSONValue?] = [:]) -> String {
        var members: JSONObject = [
            "type": "service_account", "project_id": "our-project", "private_key_id": "key1",
            "private_key": .string(String(decoding: key, as: UTF8.self)),
            "client_email": "sender@our-project.iam.gserviceaccount.com",
            "token_uri": "https://oauth2.googleapis.com/token",
        ]
        for (name, value) in changes { members[name] = value }
        return String(decoding: JSON.text(.object(members)), as: UTF8.self)
    }

    static func settings(
        _ variables: [String: String] = [:], account: [String: JSONValue?] = [:]
    ) throws -> FCMSettings? {
        var made = Variables()
        for (name, value) in variables { made.offer(name, value) }
        made.offer("FCM_SERVICE_ACCOUNT", json(account))
        return try FCMSettings(made)
    }
}

import Edge
import Turnstone

/// The recipients of a message: users, on all of their devices, and devices by their tokens.
package struct Audience {
    let users: [UserID]
    let tokens: [DeviceToken]

    package init(_ fields: inout Fields) throws(Failure) {
        var users: [UserID] = []
        var tokens: [DeviceToken] = []
        for text in try fields.texts("users") ?? [] {
            guard let user = UserID(text) else {
                throw .malformed("users: \(UserID.rule)")
            }
            users.append(user)
        }
        for text in try fields.texts("devices") ?? [] {
            guard let token = DeviceToken(text) else {
                throw .malformed(
                    "each token in devices must be 2 to 512 hex digits, an even number of them")
            }
            tokens.append(token)
        }
        guard !users.isEmpty || !tokens.isEmpty else {
            throw .malformed("users or devices is required")
        }
        self.users = users
        self.tokens = tokens
    }

    /// The user, if the message is for exactly one user and no tokens.
    var onlyUser: UserID? { users.count == 1 && tokens.isEmpty ? users[0] : nil }
}

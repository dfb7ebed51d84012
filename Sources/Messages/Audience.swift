import Edge
import Turnstone

/// The recipients of a message: users, on all of their devices, and devices by their tokens.
package struct Audience {
    let users: [UserID]
    /// The devices' tokens as the request has them.
    let tokens: [String]

    /// - Parameter services: the push services that this installation can reach.
    package init(
        _ fields: inout Fields, reaching services: PushServiceSet
    ) throws(Failure) {
        var users: [UserID] = []
        for text in try fields.texts("users") ?? [] {
            guard let user = UserID(text) else {
                throw .malformed("users: \(UserID.rule)")
            }
            users.append(user)
        }
        let tokens = try fields.texts("devices") ?? []
        for text in tokens {
            guard let named = RawToken(text) else {
                throw .malformed("each token in devices must be \(RawToken.forms)")
            }
            guard services.contains(named.service) else { throw named.unreachable }
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

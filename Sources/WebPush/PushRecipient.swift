import Turnstone

/// The owner of the browser that a message is for. A push service's answers and silence are counted by user,
/// because one user may register any number of browsers, at any path of a push service.
package enum PushRecipient: Hashable, Sendable {
    case user(UserID)
    /// The endpoint of a browser whose user is not known.
    case browser(String)

    /// The user; `nil` for all browsers whose users are not known, since they may be one user's.
    var user: UserID? {
        switch self {
        case .user(let user): user
        case .browser: nil
        }
    }
}

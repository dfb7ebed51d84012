import Documents
import Turnstone

extension State {
    /// The id that a user has now, whose id a notification or a receipt names: OneSignal's routes may have
    /// given the user an `external_id` since.
    package func present(_ user: UserID) throws(Failure) -> UserID {
        guard user.mayHaveChanged, try users[user].read() == nil else { return user }
        return try successor(of: user) ?? user
    }

    /// The user whose former id this is, if nobody has it now.
    package func successor(of user: UserID) throws(Failure) -> UserID? {
        try Alias(Alias.ownID, user.text).flatMap { (alias) throws(Failure) in
            try aliases.owner(of: alias)
        }
    }
}

extension UserID {
    /// Whether it is as long as an id that OneSignal's routes make for a user without an `external_id`, a
    /// UUID. No other id is replaced.
    package var mayHaveChanged: Bool { text.utf8.count == 36 }
}

import Documents
import Edge
import Store
import Turnstone

extension State {
    /// Changes what is known of a user, as a request says.
    ///
    /// - Returns: the user's document afterwards.
    /// - Throws: a conflict if another user has one of the aliases; changed meanwhile if the request's
    ///   `If-Match` names another version.
    @export(interface)
    package func change(
        _ user: UserID, by change: ProfileChange, as request: Request
    ) throws(Failure) -> User {
        try self.change(user, by: change, at: request.time) { (document) throws(Failure) in
            try request.checkMatch(
                document.profileVersion, else: "the profile has changed since; read it again")
        }
    }

    /// Changes what is known of a user.
    ///
    /// - Parameter check: throws if the profile of this document must not be changed.
    @export(interface)
    @discardableResult
    package func change(
        _ user: UserID, by change: ProfileChange, at now: Timestamp,
        unless check: (_ document: User) throws(Failure) -> Void = { (_) throws(Failure) in }
    ) throws(Failure) -> User {
        let document = try aliases.update(user, claiming: change.claimed) {
            (document) throws(Failure) in
            try check(document)
            try change.apply(to: &document, at: now)
            return document
        }
        // A player whose only device was disabled is looked at again once it is enabled.
        if let player = user.player, document.isWatched(with: services) {
            try registry.repair(player)
        }
        return document
    }
}

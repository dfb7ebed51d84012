import Documents
import Turnstone

/// Who is found by a token, a Live Activity or a session: an index of the users' documents.
package struct Holders: Document {
    package static var version: Int64 { 1 }

    /// In the order of registration.
    package var users: [UserID] = []
    /// Of a token that nobody has: how many waiting games its device still shows. The next player who registers it
    /// corrects the number.
    package var shownTurns: Int64?
    /// Of a session: what its listeners are to get.
    package var session = SessionFeeds()
    private var unknown = JSONObject()

    package init() {}

    mutating func remove(_ user: UserID) { remove([user]) }

    /// Takes users out. What was sent to a session is for those who listened: it goes with the last of them.
    mutating func remove(_ gone: Set<UserID>) {
        users.removeAll { gone.contains($0) }
        if users.isEmpty { session = SessionFeeds() }
    }

    package init?(_ members: JSONObject) {
        var members = Members(members)
        guard let users = members.take("users")?.array else { return nil }
        self.users = users.compactMap { $0.string.flatMap { UserID($0) } }
        shownTurns = members.take("shown_turns")?.count
        guard let session = SessionFeeds(&members) else { return nil }
        self.session = session
        unknown = members.rest
    }

    package var members: JSONObject {
        var members: JSONObject = ["users": .array(users.map { .string($0.text) })]
        members["shown_turns"] = shownTurns.map { .integer($0) }
        session.put(into: &members)
        return members.adding(unknown)
    }
}

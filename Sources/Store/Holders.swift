import Documents
import Turnstone

/// The users of a token, a Live Activity or a session: an index of the users' documents.
package struct Holders: Document {
    package static var version: Int64 { 1 }

    /// In the order of registration. While somebody has a token, also users who replaced it by another one: they
    /// may share the phone.
    package var users: [UserID] = []
    /// For a token that no player can be sent pushes by: how many waiting games its device still shows. The next
    /// player who registers the token, also again, corrects the number.
    package var shownTurns: Int64?
    /// For a token: a user who is not named and registered it before this moment has lost it.
    private(set) var since: Timestamp?
    /// For a session: the states that its listeners get.
    package var session = SessionFeeds()
    private var unknown = JSONObject()

    package init() {}

    /// Whether a user who is not named has lost the device.
    func isLost(_ device: Device) -> Bool { since.map { device.registered < $0 } ?? false }

    /// Records that registrations before this moment are over, but for those of the users who are named.
    ///
    /// - Returns: the moment from which registrations count now: this one, or a later one that was recorded before.
    @discardableResult
    mutating func endRegistrations(before moment: Timestamp) -> Timestamp {
        let newest = max(moment, since ?? moment)
        since = newest
        return newest
    }

    /// Records that a user has lost the device.
    mutating func endRegistration(of device: Device) {
        endRegistrations(before: device.registered + .milliseconds(1))
    }

    mutating func remove(_ user: UserID) { remove([user]) }

    /// Removes users. The states sent to a session are for its listeners, so they are removed with the last
    /// one.
    mutating func remove(_ gone: Set<UserID>) {
        users.removeAll { gone.contains($0) }
        if users.isEmpty { session = SessionFeeds() }
    }

    @export(interface)
    package init?(_ members: JSONObject) {
        var members = Members(members)
        guard let users = members.take("users")?.array else { return nil }
        self.users = users.compactMap { $0.string.flatMap { UserID($0) } }
        shownTurns = members.take("shown_turns")?.count
        since = members.take("since")?.timestamp
        guard let session = SessionFeeds(&members) else { return nil }
        self.session = session
        unknown = members.rest
    }

    package var members: JSONObject {
        var members: JSONObject = ["users": .array(users.map { .string($0.text) })]
        members["shown_turns"] = shownTurns.map { .integer($0) }
        members["since"] = since.map { JSONValue($0) }
        session.put(into: &members)
        return members.adding(unknown)
    }
}

import Turnstone

/// Who is found by a token, a Live Activity or a session: an index of the users' documents.
package struct Holders: Document {
    package static var version: Int64 { 1 }

    /// In the order of registration.
    package var users: [UserID] = []
    private var unknown = JSONObject()

    package init() {}

    package init?(_ members: JSONObject) {
        var members = Members(members)
        guard let users = members.take("users")?.array else { return nil }
        self.users = users.compactMap { $0.string.flatMap { UserID($0) } }
        unknown = members.rest
    }

    package var members: JSONObject {
        let members: JSONObject = ["users": .array(users.map { .string($0.text) })]
        return members.adding(unknown)
    }
}

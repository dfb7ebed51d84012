import Documents
import Turnstone

/// The record of an API key: everything except the key itself.
package struct Key: Document {
    package static var version: Int64 { 1 }

    package var owner = ""
    package var description = ""
    package var created = Timestamp(milliseconds: 0)
    /// The last day (UTC) on which it was used, such as `2026-11-21`.
    package var lastUsed: String?
    package var revoked: Timestamp?
    private var unknown = JSONObject()

    package init() {}

    @export(interface)
    package init?(_ members: JSONObject) {
        var members = Members(members)
        guard let owner = members.take("owner")?.string,
            let created = members.take("created_at")?.timestamp
        else { return nil }
        self.owner = owner
        self.created = created
        description = members.take("description")?.string ?? ""
        lastUsed = members.take("last_used")?.string
        revoked = members.take("revoked_at")?.timestamp
        unknown = members.rest
    }

    package var members: JSONObject {
        var members: JSONObject = [
            "owner": .string(owner), "description": .string(description),
            "created_at": JSONValue(created),
        ]
        members["last_used"] = lastUsed.map { .string($0) }
        members["revoked_at"] = revoked.map { JSONValue($0) }
        return members.adding(unknown)
    }
}

import Documents
import Turnstone

/// A named filter, by which a backend sends messages.
package struct Segment: Document {
    package static var version: Int64 { 1 }

    /// 1 to 128 bytes; no other segment has it.
    package var name = ""
    /// The filter, as it was given.
    package var filters: JSONValue = []
    package var created = Timestamp(milliseconds: 0)
    package var updated = Timestamp(milliseconds: 0)
    private var unknown = JSONObject()

    package init() {}

    @export(interface)
    package init?(_ members: JSONObject) {
        var members = Members(members)
        guard let name = members.take("name")?.string, let filters = members.take("filters"),
            let created = members.take("created_at")?.timestamp,
            let updated = members.take("updated_at")?.timestamp
        else { return nil }
        self.name = name
        self.filters = filters
        self.created = created
        self.updated = updated
        unknown = members.rest
    }

    package var members: JSONObject {
        let members: JSONObject = [
            "name": .string(name), "filters": filters, "created_at": JSONValue(created),
            "updated_at": JSONValue(updated),
        ]
        return members.adding(unknown)
    }
}

import Edge
import Turnstone

/// The member `identity` of a request.
struct IdentityBody {
    let externalID: UserID?
    /// The other aliases, as members of `PATCH /api/users/{id}`.
    let aliases: JSONObject

    init(_ fields: inout Fields, isRequired: Bool) throws(Failure) {
        let members =
            try isRequired ? fields.requiredObject("identity") : fields.object("identity") ?? [:]
        var external: UserID?
        var aliases = JSONObject()
        for member in members.members where member.value != .null {
            guard let id = member.value.string else {
                throw .malformed("identity.\(member.name) must be a string")
            }
            switch member.name {
            case Identity.externalID:
                guard let user = UserID(id) else {
                    throw .malformed("identity.external_id must be \(UserID.form)")
                }
                external = user
            case Identity.ownID:
                throw .malformed("identity.onesignal_id is given by this server")
            default: aliases[member.name] = member.value
            }
        }
        guard !isRequired || external != nil || !aliases.members.isEmpty else {
            throw .malformed("identity must have an alias")
        }
        externalID = external
        self.aliases = aliases
    }

    var isEmpty: Bool { externalID == nil && aliases.members.isEmpty }

    /// All aliases, `external_id` among them.
    var all: [(label: String, id: String)] {
        var all: [(label: String, id: String)] = []
        if let externalID { all.append((Identity.externalID, externalID.text)) }
        for alias in aliases.members {
            if let id = alias.value.string { all.append((alias.name, id)) }
        }
        return all
    }
}

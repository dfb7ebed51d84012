import Turnstone

/// A document's members while it is read: unknown members are preserved.
struct Members {
    private(set) var rest: JSONObject

    init(_ members: JSONObject) {
        rest = members
    }

    mutating func take(_ name: String) -> JSONValue? {
        defer { rest[name] = nil }
        return rest[name]
    }
}

extension JSONObject {
    func adding(_ unknown: JSONObject) -> JSONObject {
        var all = self
        for member in unknown.members { all[member.name] = member.value }
        return all
    }
}

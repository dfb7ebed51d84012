import Turnstone

/// A document's members while it is read: unknown members are preserved.
package struct Members {
    package private(set) var rest: JSONObject

    package init(_ members: JSONObject) {
        rest = members
    }

    package mutating func take(_ name: String) -> JSONValue? {
        defer { rest[name] = nil }
        return rest[name]
    }
}

extension JSONObject {
    package func adding(_ unknown: JSONObject) -> JSONObject {
        var all = self
        for member in unknown.members { all[member.name] = member.value }
        return all
    }
}

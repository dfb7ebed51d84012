import Turnstone

/// The users who may get a message, beyond its list of recipients: checked when it is accepted, and again
/// when it is sent.
package struct Selection: Equatable, Sendable {
    /// Filters of which at least one must match; `nil` if none has to.
    package var included: [Filter]?
    /// Filters of which none may match.
    package var excluded: [Filter] = []

    package init() {}

    /// Whether it lets everybody pass.
    package var isOpen: Bool { included == nil && excluded.isEmpty }

    /// Whether the message may go to a device of a user.
    package func admits(_ facts: Facts, at now: Timestamp) -> Bool {
        if let included, !included.contains(where: { $0.matches(facts, at: now) }) { return false }
        return !excluded.contains { $0.matches(facts, at: now) }
    }

    /// Whether it may begin or cease to admit a device while nothing about the user changes.
    package var dependsOnTime: Bool {
        ((included ?? []) + excluded).contains { $0.dependsOnTime }
    }
}

extension Selection {
    /// Reads what ``json`` writes.
    package init(_ json: JSONValue) throws(Failure) {
        if let lists = json.object?["any"]?.array {
            var filters: [Filter] = []
            for list in lists { filters.append(try Filter(list)) }
            included = filters
        }
        for list in json.object?["none"]?.array ?? [] { excluded.append(try Filter(list)) }
    }

    /// `{"any"?: [filter, …], "none"?: [filter, …]}`.
    package var json: JSONValue {
        var members = JSONObject()
        members["any"] = included.map { .array($0.map { $0.json }) }
        members["none"] = excluded.isEmpty ? nil : .array(excluded.map { $0.json })
        return .object(members)
    }
}

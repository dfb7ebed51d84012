/// Which notifications a user wants, and when.
package struct Preferences: Equatable, Sendable {
    /// For each kind of message, whether it is wanted. Kinds that are not listed are wanted.
    package var kinds = JSONObject()
    package var mutedUntil: Timestamp?
    package var quietHours: QuietHours?
    /// Counts the changes: ``Timestamp/revision(after:)``.
    package var revision: Int64 = 0

    package init() {}

    /// The kind of the notices about a player's turn.
    package static let turn = "turn"

    package enum Passage: Equatable, Sendable {
        /// Now.
        case free
        /// Not before this moment.
        case held(until: Timestamp)
        /// Never.
        case closed
    }

    /// Whether a message may reach the user now.
    ///
    /// - Parameters:
    ///   - kind: `nil` for a message that nobody can turn off.
    ///   - isExempt: whether it is time-sensitive or silent, so that neither mute nor quiet hours hold it.
    package func passage(
        _ kind: String?, isExempt: Bool = false, at now: Timestamp, _ clock: QuietHours.Clock
    ) -> Passage {
        if let kind, kinds[kind] == .bool(false) { return .closed }
        guard !isExempt else { return .free }
        var moment = now
        if let mutedUntil, mutedUntil > moment { moment = mutedUntil }
        if let end = quietHours?.end(at: moment, clock) { moment = end }
        return moment > now ? .held(until: moment) : .free
    }
}

extension Preferences {
    /// Reads the form that ``json`` writes; `nil` for anything else.
    package init?(_ json: JSONValue) {
        guard let members = json.object else { return nil }
        kinds = members["kinds"]?.object ?? [:]
        mutedUntil = members["muted_until"]?.timestamp
        if let quiet = members["quiet_hours"] {
            guard let quiet = QuietHours(quiet) else { return nil }
            quietHours = quiet
        }
        revision = members["revision"]?.integer.map { max(0, $0) } ?? 0
    }

    /// `{"kinds", "muted_until", "quiet_hours": {"from", "to", "timeZone"}, "revision"}`.
    package var json: JSONValue {
        var members: JSONObject = ["kinds": .object(kinds)]
        members["muted_until"] = mutedUntil.map { JSONValue($0) }
        members["quiet_hours"] = quietHours.map { $0.json }
        members["revision"] = .integer(revision)
        return .object(members)
    }
}

import Edge
import Turnstone
import Unix

extension Preferences {
    /// Reads the preferences from a request; missing ones get their defaults.
    init(_ fields: inout Fields) throws(Failure) {
        self.init()
        if let kinds = try fields.object("kinds") { self.kinds = try checked(kinds) }
        if let text = try fields.text("mutedUntil") {
            guard let moment = Timestamp(text) else {
                throw .unacceptable(
                    "mutedUntil must be a moment that exists, in UTC, such as 2026-11-22T07:00:00Z")
            }
            mutedUntil = moment
        }
        if let members = try fields.object("quietHours") {
            quietHours = try QuietHours(requested: members)
        }
        try fields.finish()
    }
}

private func checked(_ kinds: JSONObject) throws(Failure) -> JSONObject {
    guard kinds.members.count <= 100 else {
        throw .unacceptable("kinds must have at most 100 members, not \(kinds.members.count)")
    }
    for kind in kinds.members {
        guard (1...64).contains(kind.name.utf8.count) else {
            throw .unacceptable("a kind's name must have 1 to 64 bytes")
        }
        guard kind.value.bool != nil else {
            throw .malformed("kinds.\(kind.name) must be true or false")
        }
    }
    return kinds
}

extension QuietHours {
    fileprivate init(requested members: JSONObject) throws(Failure) {
        var fields = Fields(members, of: "quietHours")
        let from = try fields.requiredText("from")
        let to = try fields.requiredText("to")
        _ = try fields.requiredText("timeZone")
        try fields.finish()
        guard from != to else {
            throw .unacceptable(
                "quietHours.from and quietHours.to must differ: for the whole day, use mutedUntil or kinds"
            )
        }
        guard let hours = QuietHours(.object(members)) else {
            throw .unacceptable(
                "quietHours.from and quietHours.to must be times such as 22:00 and 07:00")
        }
        let isKnown = try systemCalls(WallClock.knows(hours.zone))
        guard isKnown else {
            throw .unacceptable(
                "quietHours.timeZone is unknown; it must be a name such as Europe/Berlin")
        }
        self = hours
    }
}

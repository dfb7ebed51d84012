import Edge
import Turnstone
import Unix

/// Reads what a caller wants.
func preferences(_ members: JSONObject) throws(Failure) -> Preferences {
    var wanted = Preferences()
    for member in members.members {
        switch (member.name, member.value) {
        case ("kinds", .null), ("mutedUntil", .null), ("quietHours", .null): break
        case ("kinds", let value): wanted.kinds = try kinds(value)
        case ("mutedUntil", let value):
            guard let text = value.string else { throw .malformed("mutedUntil must be a text") }
            guard let moment = Timestamp(text) else {
                throw unacceptable("mutedUntil must look like 2026-11-22T07:00:00Z")
            }
            wanted.mutedUntil = moment
        case ("quietHours", let value): wanted.quietHours = try quietHours(value)
        default: throw .malformed("there is no member \(member.name)")
        }
    }
    return wanted
}

private func kinds(_ value: JSONValue) throws(Failure) -> JSONObject {
    guard let kinds = value.object else { throw .malformed("kinds must be an object") }
    guard kinds.members.count <= 100 else { throw unacceptable("there may be 100 kinds") }
    for kind in kinds.members {
        guard (1...64).contains(kind.name.utf8.count) else {
            throw unacceptable("a kind must have 1 to 64 bytes")
        }
        guard kind.value.bool != nil else { throw .malformed("a kind is true or false") }
    }
    return kinds
}

private func quietHours(_ value: JSONValue) throws(Failure) -> QuietHours {
    guard let members = value.object else { throw .malformed("quietHours must be an object") }
    let names = ["from", "to", "timeZone"]
    for member in members.members where !names.contains(member.name) {
        throw .malformed("there is no member \(member.name)")
    }
    for name in names { _ = try members.text(name) }
    guard members["from"] != members["to"] else {
        throw unacceptable(
            "from and to are the same: quiet hours cannot last all day (use mutedUntil or kinds)")
    }
    guard let hours = QuietHours(value) else {
        throw unacceptable("from and to must be two times such as 22:00 and 07:00")
    }
    let isKnown = try systemCalls(WallClock.knows(hours.zone))
    guard isKnown else {
        throw unacceptable("timeZone must be a name such as Europe/Berlin")
    }
    return hours
}

private func unacceptable(_ sentence: String) -> Failure { .refused(.notAcceptable, sentence) }

extension Preferences {
    /// The revision as an entity tag (RFC 9110 section 8.8.3).
    var entityTag: String { "\"\(revision)\"" }
}

extension Request {
    /// Refuses a change to preferences that are no longer those that the caller has seen (RFC 9110 section 13.1.1).
    func checkMatch(_ preferences: Preferences) throws(Failure) {
        guard let condition = headers["if-match"] else { return }
        let tags = condition.utf8.split(separator: UInt8(ascii: ",")).map { tag in
            String(decoding: tag.filter { $0 != 32 && $0 != 9 }, as: UTF8.self)
        }
        guard tags.contains(preferences.entityTag) || tags == ["*"] else {
            throw .refused(.changedMeanwhile, "the preferences have changed since")
        }
    }
}

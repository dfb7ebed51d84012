import Edge
import JSON
import Turnstone

extension Message {
    /// Reads a message as `POST /api/notify` takes it. What is for APNs is named as there, with `_` for `-`.
    ///
    /// - Parameter kind: what it is where it does not say.
    package init(_ fields: inout Fields, kind standard: String, now: Timestamp) throws(Failure) {
        kind = try fields.text("kind") ?? standard
        guard (1...64).contains(kind.utf8.count) else {
            throw .unacceptable("kind must have 1 to 64 bytes")
        }
        let isSilent = try fields.boolean("content_available") ?? false
        var (aps, badge) = try fields.aps(isSilent: isSilent)
        self.badge = badge
        let isBare = aps.members.count == (isSilent ? 1 : 0)
        pushType = try fields.pushType() ?? (isSilent && isBare ? "background" : "alert")
        priority = try fields.priority(pushType)
        collapseID = try fields.collapseID()
        subject = try fields.text("subject")
        guard subject.map({ (1...256).contains($0.utf8.count) }) ?? true else {
            throw .unacceptable("subject must have 1 to 256 bytes")
        }
        if pushType == "background" {
            guard isSilent, isBare else {
                throw .unacceptable(
                    "a background push has content_available and nothing else for aps")
            }
        } else if pushType == "alert" {
            guard aps.showsSomething || isSilent else {
                throw .malformed(
                    "title, subtitle, body, a loc_key, badge, sound or content_available is required"
                )
            }
            guard aps["mutable-content"] == nil || aps["alert"] != nil else {
                throw .unacceptable("mutable_content wants a title or a body")
            }
        } else if pushType == "widgets" || pushType == "controls" {
            // What such a push says: Apple's "Updating widgets with WidgetKit push notifications".
            aps["content-changed"] = true
        }
        payload = try Self.fitting(.object(try fields.payload(aps)), badge, pushType)
        sendAfter = try fields.sendAfter(now: now)
        (expires, isKept, hasOwnLife) = try fields.expires(after: sendAfter ?? now)
    }

    /// Cuts the alert's text so that the payload fits, whatever the user's badge will be.
    ///
    /// - Throws: too large where it does not fit without the text either.
    private static func fitting(
        _ payload: JSONValue, _ badge: BadgeChange?, _ pushType: String
    ) throws(Failure) -> JSONValue {
        let limit = limit(of: pushType)
        var longest = payload
        if case .add = badge { longest = payload.replacingBadge(BadgeChange.most) }
        guard longest.cut(to: limit, size) != nil, let fitting = payload.cut(to: limit, size) else {
            let shortest = longest.alertText == nil ? longest : longest.replacingAlertText("…")
            throw .refused(
                .tooLarge,
                "the payload has \(size(shortest)) bytes without its body, and may have \(limit)")
        }
        return fitting
    }

    private static func size(_ value: JSONValue) -> Int { JSON.text(value).count }
}

/// Types that go to tokens of their own kind, or to the app's device tokens. A Live Activity has a route of its own.
private let pushTypes = [
    "alert", "background", "voip", "complication", "fileprovider", "location", "pushtotalk",
    "widgets", "controls",
]

extension Fields {
    fileprivate mutating func pushType() throws(Failure) -> String? {
        guard let type = try text("push_type") else { return nil }
        guard pushTypes.contains(type) else {
            throw .unacceptable("push_type must be one of \(pushTypes.joined(separator: ", "))")
        }
        return type
    }

    fileprivate mutating func priority(_ type: String) throws(Failure) -> Int {
        let allowed: [Int64] = type == "background" ? [5] : [10, 5, 1]
        guard let priority = try integer("priority") else { return Int(allowed[0]) }
        guard allowed.contains(priority) else {
            let words = allowed.map { String($0) }.joined(separator: ", ")
            throw .unacceptable("the priority of a push of type \(type) must be \(words)")
        }
        return Int(priority)
    }

    fileprivate mutating func collapseID() throws(Failure) -> String? {
        guard let id = try text("collapse_id") else { return nil }
        let bytes = Array(id.utf8)
        guard (1...64).contains(bytes.count), bytes.first != 32, bytes.last != 32,
            bytes.allSatisfy({ (0x20...0x7e).contains($0) })
        else { throw .unacceptable("collapse_id must have 1 to 64 bytes of printable ASCII") }
        return id
    }

    fileprivate mutating func payload(_ aps: JSONObject) throws(Failure) -> JSONObject {
        var payload: JSONObject = ["aps": .object(aps)]
        for member in try object("data")?.members ?? [] {
            guard member.name != "aps" else { throw .unacceptable("data must not have aps in it") }
            payload.append(member.name, member.value)
        }
        return payload
    }

    /// At most 30 days ahead: so long receipts are kept.
    fileprivate mutating func sendAfter(now: Timestamp) throws(Failure) -> Timestamp? {
        guard let moment = try moment("send_after"), moment > now else { return nil }
        guard moment - now <= .days(30) else {
            throw .unacceptable("send_after may be at most 30 days ahead")
        }
        return moment
    }

    /// A day later where nothing is said. APNs keeps nothing for longer than 30 days.
    fileprivate mutating func expires(
        after start: Timestamp
    ) throws(Failure) -> (Timestamp, isKept: Bool, isSaid: Bool) {
        let moment = try moment("expiration")
        let seconds = try integer("expires_in")
        guard moment == nil || seconds == nil else {
            throw .unacceptable("expiration and expires_in exclude each other")
        }
        if moment?.milliseconds == 0 || seconds == 0 {
            return (start + .minutes(1), false, true)
        }
        let longest = Interval.days(30)
        let expires =
            seconds.map { start + .seconds(min(max($0, -1), longest.milliseconds)) }
            ?? moment ?? start + .days(1)
        guard expires > start, expires - start <= longest else {
            throw .unacceptable("it must expire after it is sent, and at most 30 days later")
        }
        return (expires, true, moment != nil || seconds != nil)
    }
}

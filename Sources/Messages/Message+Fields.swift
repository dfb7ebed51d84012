import Edge
import JSON
import Spool
import Turnstone

extension Message {
    /// Takes the members of a message, as `POST /api/notify` accepts them. Members for APNs are named as in
    /// `aps`, with `_` for `-`.
    ///
    /// - Parameter kind: the kind of a message that does not state one.
    @export(interface)
    package init(_ fields: inout Fields, kind standard: String, now: Timestamp) throws(Failure) {
        kind = try fields.text("kind") ?? standard
        guard (1...64).contains(kind.utf8.count) else {
            throw .unacceptable("kind must have 1 to 64 bytes")
        }
        let isSilent = try fields.boolean("content_available") ?? false
        var (aps, translations, badge) = try fields.aps(isSilent: isSilent)
        self.badge = badge
        let isBare = aps.members.count == (isSilent ? 1 : 0)
        let type = try fields.pushType() ?? (isSilent && isBare ? .background : .alert)
        let priority = try fields.priority(type)
        let collapseID = try fields.collapseID()
        subject = try fields.text("subject")
        guard subject.map({ (1...256).contains($0.utf8.count) }) ?? true else {
            throw .unacceptable("subject must have 1 to 256 bytes")
        }
        if type == .background {
            guard isSilent, isBare else {
                throw .unacceptable(
                    "with push_type background, content_available is required and nothing visible is allowed"
                )
            }
        } else if type == .alert {
            guard aps.showsSomething || isSilent else {
                throw .malformed(
                    "title, subtitle, body, a loc_key, badge, sound or content_available is required"
                )
            }
            guard aps["mutable-content"] == nil || aps["alert"] != nil else {
                throw .unacceptable("mutable_content requires a title or a body")
            }
        } else if type == .widgets || type == .controls {
            // Apple: *Updating widgets with WidgetKit push notifications*.
            aps["content-changed"] = true
        }
        let whole = Payload(aps: aps, data: try fields.data())
        let moment = try fields.sendAfter(now: now)
        notBefore = moment
        sendAfter = moment.flatMap { $0 > now ? $0 : nil }
        delayed = try fields.delayed()
        throttle = try fields.throttle()
        let isKept: Bool
        let start = sendAfter ?? now
        let end: Timestamp
        let isAbsolute: Bool
        (end, isKept, hasOwnExpiration, isAbsolute) = try fields.expires(
            after: start, isDelayed: sendAfter != nil)
        life = delayed == nil || isAbsolute ? nil : end - start
        expires = life == nil ? end : end + Notification.longestDelay
        var push = PushContent(
            type: type, priority: priority, collapseID: collapseID, payload: whole, isKept: isKept)
        push.overrides = try fields.overrides(type, alert: aps["alert"]?.object ?? [:])
        guard type != .alert || isSilent || push.apnsPayload.aps.showsSomething else {
            throw .unacceptable("apns must not remove everything that the message shows")
        }
        push.translations = translations
        self.push = try push.fitting(badge).withFittingTranslations(badge)
    }
}

extension Fields {
    fileprivate mutating func pushType() throws(Failure) -> PushType? {
        guard let name = try text("push_type") else { return nil }
        guard let type = PushType(rawValue: name), PushType.ofMessages.contains(type) else {
            let names = PushType.ofMessages.map { $0.rawValue }.joined(separator: ", ")
            throw .unacceptable("push_type must be one of \(names)")
        }
        return type
    }

    fileprivate mutating func priority(_ type: PushType) throws(Failure) -> Int {
        guard let priority = try integer("priority") else { return type.priorities[0] }
        guard let allowed = type.priorities.first(where: { Int64($0) == priority }) else {
            throw .unacceptable(
                type == .background
                    ? "priority must be 5 if push_type is background"
                    : "priority must be 10, 5 or 1")
        }
        return allowed
    }

    fileprivate mutating func collapseID() throws(Failure) -> String? {
        guard let id = try text("collapse_id") else { return nil }
        let bytes = Array(id.utf8)
        guard (1...64).contains(bytes.count), bytes.first != 32, bytes.last != 32,
            bytes.allSatisfy({ (0x20...0x7e).contains($0) })
        else { throw .unacceptable("collapse_id must have 1 to 64 bytes of printable ASCII") }
        return id
    }

    /// Takes `apns`, `android` and `web`.
    fileprivate mutating func overrides(
        _ type: PushType, alert: JSONObject
    ) throws(Failure) -> PushOverrides {
        let overrides = PushOverrides(
            apns: try object("apns"), android: try object("android"), web: try object("web"))
        try overrides.check(for: type, alert: alert)
        let size = [overrides.apns, overrides.android, overrides.web].reduce(0) {
            $0 + ($1.map { JSON.text(.object($0)).count } ?? 0)
        }
        guard size <= type.payloadLimit else {
            throw .refused(
                .tooLarge,
                "apns, android and web have \(size) bytes together; the limit is \(type.payloadLimit)"
            )
        }
        return overrides
    }

    fileprivate mutating func data() throws(Failure) -> JSONObject {
        let data = try object("data") ?? [:]
        guard data["aps"] == nil else { throw .unacceptable("data must not contain aps") }
        try PushOverrides.checkFCMOptions(in: data)
        return data
    }

    /// Takes `send_after`. It may be at most 30 days ahead, because receipts are kept for 30 days.
    fileprivate mutating func sendAfter(now: Timestamp) throws(Failure) -> Timestamp? {
        guard let moment = try moment("send_after") else { return nil }
        guard moment - now <= .days(30) else {
            throw .unacceptable("send_after may be at most 30 days ahead")
        }
        return moment
    }

    /// Takes `delayed_option` and `delivery_time_of_day`.
    fileprivate mutating func delayed() throws(Failure) -> DelayedOption? {
        let option = try text("delayed_option")
        let time = try text("delivery_time_of_day")
        switch option {
        case nil, "immediate", "last-active":
            guard time == nil else {
                throw .unacceptable("delivery_time_of_day requires delayed_option timezone")
            }
            return option == "last-active" ? .lastActive : nil
        case "timezone":
            guard let time else {
                throw .unacceptable("delayed_option timezone requires delivery_time_of_day")
            }
            guard let minute = minuteOfDay(time) else {
                throw .unacceptable("delivery_time_of_day must be a time such as 09:00")
            }
            return .timeOfDay(minute)
        default:
            throw .unacceptable("delayed_option must be immediate, timezone or last-active")
        }
    }

    /// Takes `throttle_per_minute`.
    fileprivate mutating func throttle() throws(Failure) -> Int64? {
        guard let count = try integer("throttle_per_minute") else { return nil }
        guard (1...Throttle.most).contains(count) else {
            throw .unacceptable("throttle_per_minute must be 1 to \(Throttle.most)")
        }
        return count
    }

    /// Takes `expiration` or `expires_in`. The default is a day after `start`, the maximum 30 days, because
    /// APNs keeps nothing for longer.
    ///
    /// - Parameter isDelayed: whether `start` is the request's `send_after`.
    /// - Returns: when the message expires, whether APNs keeps it for devices that are offline, whether
    ///   the request states when it expires, and whether it does so by a moment.
    fileprivate mutating func expires(
        after start: Timestamp, isDelayed: Bool
    ) throws(Failure) -> (Timestamp, isKept: Bool, isStated: Bool, isAbsolute: Bool) {
        let moment = try moment("expiration")
        let seconds = try integer("expires_in")
        guard moment == nil || seconds == nil else {
            throw .unacceptable("use either expiration or expires_in")
        }
        if moment?.milliseconds == 0 || seconds == 0 {
            return (start + .minutes(1), false, true, false)
        }
        let longest = Interval.days(30)
        if let seconds {
            guard (0...longest.seconds).contains(seconds) else {
                throw .unacceptable("expires_in must be 0 to 2592000 seconds")
            }
            return (start + .seconds(seconds), true, true, false)
        }
        guard let moment else { return (start + .days(1), true, false, false) }
        guard moment > start, moment - start <= longest else {
            throw .unacceptable(
                isDelayed
                    ? "expiration must be after send_after and at most 30 days later"
                    : "expiration must be in the future, at most 30 days ahead")
        }
        return (moment, true, true, true)
    }
}

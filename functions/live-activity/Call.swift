import Edge
import JSON
import Turnstone

/// What a caller wants a Live Activity to show.
struct Call {
    enum Event: String {
        case start, update, end
    }

    let event: Event
    let target: Target
    /// What goes into `aps`, but for `timestamp`.
    let aps: JSONObject
    let priority: Int
    /// When it was so; `nil` where the caller has not said so: it is then newer than all before.
    let moment: Timestamp?
    /// After this nobody wants it any more.
    let expires: Timestamp
    let now: Timestamp

    init(_ members: JSONObject, now: Timestamp) throws(Failure) {
        let name = try members.optionalText("event") ?? "update"
        guard let event = Event(rawValue: name) else {
            throw .malformed("event must be start, update or end")
        }
        self.event = event
        self.now = now
        target = try Target(members, event)
        moment = try members.moment("timestamp")
        guard (moment ?? now) - now <= ActivityFeed.mostAhead else {
            throw .refused(.notAcceptable, "timestamp is in the future")
        }
        priority = try members.priority()
        let life = Interval.seconds(300)
        let stale = try members.moment("staleDate") ?? now + life
        // An activity that is never ended stays on the lock screen. A state that is out of date at once is still
        // newer than what is shown.
        let latest = event == .end ? now + .hours(12) : max(stale, now + life)
        expires = target.isBroadcast ? min(latest, now + StoragePolicy.longest) : latest

        var aps: JSONObject = ["event": .string(event.rawValue)]
        if event == .start {
            aps["attributes-type"] = .string(try members.text("attributesType"))
            aps["attributes"] = .object(try members.required("attributes"))
            aps["input-push-channel"] = target.channel.map { .string($0.text) }
            aps["input-push-token"] = try members.inputPushToken(besides: target.channel)
        }
        aps["content-state"] =
            event == .end && members["contentState"] == nil
            ? nil : .object(try members.required("contentState"))
        aps["stale-date"] = .integer(stale.seconds)
        if event == .end {
            let dismissal = try members.moment("dismissalDate") ?? now + .seconds(900)
            aps["dismissal-date"] = .integer(dismissal.seconds)
        }
        aps["relevance-score"] = try members.relevance()
        let sound = try members.optionalText("sound")
        aps["alert"] = try members.alert(sound, isRequired: event == .start)
        guard let fitting = Self.cut(aps, target, latest: max(moment ?? now, now)) else {
            throw .refused(
                .tooLarge,
                "the payload does not fit into \(Self.limit(target)) bytes, even without the alert's body"
            )
        }
        self.aps = fitting
    }

    /// Whether it may be sent with these members in the place of its own.
    func fits(_ aps: JSONObject) -> Bool {
        Self.cut(aps, target, latest: max(moment ?? now, now)) != nil
    }

    /// The members with the alert's text cut so that the payload fits with any `timestamp` that it may get; `nil` where
    /// it does not fit.
    private static func cut(
        _ aps: JSONObject, _ target: Target, latest: Timestamp
    ) -> JSONObject? {
        var whole: JSONObject = ["timestamp": .integer(latest.seconds)]
        for member in aps.members { whole.append(member.name, member.value) }
        let payload: JSONValue = ["aps": .object(whole)]
        let cut = payload.cut(to: limit(target)) { JSON.text($0).count }
        guard var members = cut?.object?["aps"]?.object else { return nil }
        members["timestamp"] = nil
        return members
    }

    static func limit(_ target: Target) -> Int { target.isBroadcast ? 5120 : 4096 }
}

extension JSONObject {
    fileprivate func required(_ name: String) throws(Failure) -> JSONObject {
        guard let value = self[name], value != .null else {
            throw .malformed("\(name) is required")
        }
        guard let object = value.object else { throw .malformed("\(name) must be an object") }
        return object
    }

    /// A moment in seconds since 1970, with or without a fraction.
    fileprivate func moment(_ name: String) throws(Failure) -> Timestamp? {
        switch self[name] {
        case nil, .null: return nil
        case .integer(let seconds) where (0...253_402_300_799).contains(seconds):
            return Timestamp(seconds: seconds)
        case .number(let seconds) where seconds.value >= 0 && seconds.value < 253_402_300_800:
            return Timestamp(milliseconds: Int64(seconds.value * 1000))
        default: throw .malformed("\(name) must be seconds since 1970")
        }
    }

    /// 5 unless the user has to see it: APNs counts the others against the app's budget.
    fileprivate func priority() throws(Failure) -> Int {
        guard let value = self["priority"], value != .null else { return 5 }
        guard let priority = value.integer, priority == 5 || priority == 10 else {
            throw .malformed("priority must be 5 or 10")
        }
        return Int(priority)
    }

    fileprivate func relevance() throws(Failure) -> JSONValue? {
        switch self["relevanceScore"] {
        case nil, .null: return nil
        case .integer(let score): return .integer(score)
        case .number(let score): return .number(score)
        default: throw .malformed("relevanceScore must be a number")
        }
    }

    /// An alert lights the screen up; a start must have one (Apple: *Starting and updating Live Activities with
    /// ActivityKit push notifications*).
    fileprivate func alert(_ sound: String?, isRequired: Bool) throws(Failure) -> JSONValue? {
        guard let value = self["alert"], value != .null else {
            guard !isRequired else { throw .malformed("alert is required") }
            return nil
        }
        guard let alert = value.object,
            alert["title"]?.string != nil || alert["title"]?.object != nil,
            alert["body"]?.string != nil || alert["body"]?.object != nil
        else { throw .malformed("alert must be an object with title and body") }
        guard let sound else { return value }
        var sounding = alert
        sounding["sound"] = sounding["sound"] ?? .string(sound)
        return .object(sounding)
    }

    /// Whether a new activity asks APNs for a token to update it with (iOS 18).
    fileprivate func inputPushToken(besides channel: ChannelID?) throws(Failure) -> JSONValue? {
        guard let value = self["inputPushToken"], value != .null else { return nil }
        guard let isWanted = value.bool else {
            throw .malformed("inputPushToken must be true or false")
        }
        guard !isWanted || channel == nil else {
            throw .malformed("inputPushToken and channel exclude each other")
        }
        return isWanted ? 1 : nil
    }
}

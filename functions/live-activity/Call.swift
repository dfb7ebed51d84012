import Edge
import JSON
import Turnstone

/// A request to start, update or end Live Activities.
struct Call {
    enum Event: String {
        case start, update, end
    }

    let event: Event
    let target: Target
    /// The members of `aps`, except `timestamp`.
    let aps: JSONObject
    let priority: Int
    /// When the state was true; `nil` if the caller does not say so. The state is then newer than all before.
    let moment: Timestamp?
    /// The state is not worth delivering after this.
    let expires: Timestamp
    let now: Timestamp

    init(_ fields: inout Fields, now: Timestamp) throws(Failure) {
        let name = try fields.optionalText("event") ?? "update"
        guard let event = Event(rawValue: name) else {
            throw .malformed("event must be start, update or end")
        }
        self.event = event
        self.now = now
        target = try Target(&fields, event)
        moment = try fields.moment("timestamp")
        guard (moment ?? now) - now <= ActivityFeed.maximumLead else {
            throw .unacceptable("timestamp must be at most an hour ahead of the server's clock")
        }
        priority = try fields.priority()
        let life = Interval.seconds(300)
        let stale = try fields.moment("staleDate", upTo: Self.latestMoment) ?? now + life
        // An activity that never ends stays on the lock screen, so an end lives long. A state that is out of
        // date at once is still newer than what is shown.
        let latest = event == .end ? now + .hours(12) : max(stale, now + life)
        expires = target.isBroadcast ? min(latest, now + StoragePolicy.longest) : latest

        var aps: JSONObject = ["event": .string(event.rawValue)]
        if event == .start {
            aps["attributes-type"] = target.attributesType.map { .string($0) }
            aps["attributes"] = .object(try fields.requiredObject("attributes"))
            aps["input-push-channel"] = target.channel.map { .string($0.text) }
            aps["input-push-token"] = try fields.inputPushToken(besides: target.channel)
        }
        aps["content-state"] = try fields.contentState(event)
        aps["stale-date"] = .integer(stale.seconds)
        if event == .end {
            let dismissal =
                try fields.moment("dismissalDate", upTo: Self.latestMoment) ?? now + .seconds(900)
            aps["dismissal-date"] = .integer(dismissal.seconds)
        }
        aps["relevance-score"] = try fields.relevance()
        aps["alert"] = try fields.alert(isRequired: event == .start)
        guard let fitting = Self.cut(aps, target, latest: max(moment ?? now, now)) else {
            throw .refused(
                .tooLarge,
                "the payload does not fit into \(Self.limit(target)) bytes, even without the alert's body"
            )
        }
        self.aps = fitting
    }

    /// The latest moment of ten digits, in 2286.
    private static let latestMoment = Timestamp(seconds: 9_999_999_999)

    /// Whether it fits with these members in place of its own.
    func fits(_ aps: JSONObject) -> Bool {
        Self.cut(aps, target, latest: max(moment ?? now, now)) != nil
    }

    /// The members with the alert's text cut so that the payload fits with any `timestamp` that it may get;
    /// `nil` if it cannot fit.
    private static func cut(
        _ aps: JSONObject, _ target: Target, latest: Timestamp
    ) -> JSONObject? {
        var whole: JSONObject = ["timestamp": .integer(latest.seconds)]
        for member in aps.members { whole.append(member.name, member.value) }
        guard var members = Payload(aps: whole).cut(to: limit(target))?.aps else { return nil }
        members["timestamp"] = nil
        return members
    }

    static func limit(_ target: Target) -> Int {
        target.isBroadcast ? PushType.broadcastLimit : PushType.liveActivity.payloadLimit
    }
}

extension Fields {
    /// A moment, or `latest` in place of a later one: `Date.distantFuture`, which has eleven digits, means "never".
    fileprivate mutating func moment(
        _ name: String, upTo latest: Timestamp
    ) throws(Failure) -> Timestamp? {
        try moment(name).map { min($0, latest) }
    }

    /// `priority`: 5 by default. APNs counts pushes of priority 10 against the app's budget.
    fileprivate mutating func priority() throws(Failure) -> Int {
        guard let value = take("priority") else { return 5 }
        guard let priority = value.integer, priority == 5 || priority == 10 else {
            throw .malformed("priority must be 5 or 10")
        }
        return Int(priority)
    }

    /// `contentState`. An end may omit it, but it must not be `null`.
    fileprivate mutating func contentState(_ event: Call.Event) throws(Failure) -> JSONValue? {
        if event == .end, rest["contentState"] == nil { return nil }
        return .object(try requiredObject("contentState"))
    }

    fileprivate mutating func relevance() throws(Failure) -> JSONValue? {
        guard let value = take("relevanceScore") else { return nil }
        switch value {
        case .integer, .number: return value
        default: throw .malformed("relevanceScore must be a number")
        }
    }

    /// `alert`, which turns the screen on. A start must have one (Apple: *Starting and updating Live
    /// Activities with ActivityKit push notifications*).
    fileprivate mutating func alert(isRequired: Bool) throws(Failure) -> JSONValue? {
        let sound = try optionalText("sound")
        guard let value = take("alert") else {
            guard !isRequired else { throw .malformed("alert is required") }
            return nil
        }
        var alert = value.object ?? [:]
        for member in alert.members where member.value == .null { alert[member.name] = nil }
        guard alert["title"] != nil, alert["body"] != nil else {
            throw .malformed("alert must be an object with title and body")
        }
        try PushOverrides.checkActivityAlert(alert)
        alert["sound"] = alert["sound"] ?? sound.map { .string($0) }
        return .object(alert)
    }

    /// Whether a new activity asks APNs for a token to update it with (iOS 18).
    fileprivate mutating func inputPushToken(
        besides channel: ChannelID?
    ) throws(Failure) -> JSONValue? {
        guard try boolean("inputPushToken") == true else { return nil }
        guard channel == nil else {
            throw .malformed("inputPushToken and channel must not be sent together")
        }
        return 1
    }
}

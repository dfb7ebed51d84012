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
    /// When it was so.
    let moment: Timestamp
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
        moment = try members.moment("timestamp") ?? now
        guard moment - now <= .hours(1) else {
            throw .refused(.notAcceptable, "timestamp is in the future")
        }
        priority = try members.priority()
        let stale = try members.moment("staleDate") ?? now + .seconds(300)
        // An activity that is never ended stays on the lock screen.
        let latest = event == .end ? now + .hours(12) : max(stale, now)
        expires = target.isBroadcast ? min(latest, now + StoragePolicy.longest) : latest

        var aps: JSONObject = ["event": .string(event.rawValue)]
        if event == .start {
            aps["attributes-type"] = .string(try members.text("attributesType"))
            aps["attributes"] = .object(try members.required("attributes"))
            aps["input-push-channel"] = target.channel.map { .string($0.text) }
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
        aps["alert"] = try members.alert(isRequired: event == .start)
        let sound = try members.optionalText("sound")
        if aps["alert"] != nil { aps["sound"] = sound.map { .string($0) } }
        self.aps = aps
        try checkSize()
    }

    /// Refuses what does not fit even if the alert's text is cut.
    private func checkSize() throws(Failure) {
        var aps = aps
        if var alert = aps["alert"]?.object {
            alert["body"] = nil
            aps["alert"] = .object(alert)
        }
        aps["timestamp"] = .integer(moment.seconds)
        let size = JSON.text(["aps": .object(aps)]).count
        let limit = target.isBroadcast ? 5120 : 4096
        guard size <= limit else {
            throw .refused(
                .tooLarge, "the payload has \(size) bytes, and may have \(limit)")
        }
    }
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
    fileprivate func alert(isRequired: Bool) throws(Failure) -> JSONValue? {
        guard let value = self["alert"], value != .null else {
            guard !isRequired else { throw .malformed("alert is required") }
            return nil
        }
        guard let alert = value.object,
            alert["title"]?.string != nil || alert["title"]?.object != nil,
            alert["body"]?.string != nil || alert["body"]?.object != nil
        else { throw .malformed("alert must be an object with title and body") }
        return value
    }
}

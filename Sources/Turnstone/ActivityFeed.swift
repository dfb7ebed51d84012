/// What a Live Activity's token, or a broadcast channel, is to get: an update at most once per ``window``, then the
/// newest state, and the end always.
///
/// A state is first added, whereupon a notification is made that is due when the window opens; whoever delivers
/// that one takes the newest state there is. So a state that was overtaken is never sent, and the newest one goes out
/// though nobody calls any more.
package struct ActivityFeed: Equatable, Sendable {
    /// APNs gives an app about one update in this time (Apple's guide to ActivityKit push notifications).
    package static let window = Interval.seconds(15)

    /// What an activity shows from a moment on.
    package struct State: Equatable, Sendable {
        /// Counts the activity's states from 1.
        package let number: Int64
        /// When it was so: a state from before the one that is known is outdated.
        package let moment: Timestamp
        /// After this nobody wants it any more.
        package let expires: Timestamp
        /// 10 where the user has to see it, else 5.
        package let priority: Int
        /// `event`, `content-state` and what else ActivityKit knows, but for `timestamp`.
        package let aps: JSONObject

        package var isEnd: Bool { aps["event"] == .string("end") }
    }

    /// What waits for its turn.
    package private(set) var waiting: State?
    /// The notification that is to take it, and when it is due.
    package private(set) var carrier: Carrier?
    /// What was taken last, to be sent.
    package private(set) var taken: Taken?

    package struct Carrier: Equatable, Sendable {
        /// The notification's id.
        package let id: String
        package let due: Timestamp
    }

    package struct Taken: Equatable, Sendable {
        package let state: State
        /// The notification that took it.
        package let carrier: String
        /// When it was, at the last attempt.
        package internal(set) var moment: Timestamp
        /// What goes into `aps`' `timestamp`: seconds, each later than the one before.
        package let seconds: Int64
    }

    package init() {}

    /// Whom the states are for.
    package enum Audience: Sendable {
        /// One activity's token.
        case activity
        /// The activities that listen to a broadcast channel. Each state goes out as soon as it can, and after an end
        /// others may come to listen.
        case channel

        fileprivate var window: Interval { self == .activity ? ActivityFeed.window : .seconds(0) }
    }

    /// The notification that is to carry an end, or has carried it, while nothing newer is known.
    package var endCarrier: String? {
        if let waiting { return waiting.isEnd ? carrier?.id : nil }
        return taken?.state.isEnd == true ? taken?.carrier : nil
    }

    /// The notifications that carry what is known, or have carried it.
    package var carriers: [String] { [carrier?.id, taken?.carrier].compactMap { $0 } }

    /// What became of a state that was added.
    package enum Addition: Equatable, Sendable {
        /// It goes out with this notification, which must be in the spool.
        case carried(Carrier)
        /// A newer one is known.
        case outdated
        /// The activity has ended.
        case ended
        /// It is to end with the newest state that is known, and does not fit together with that.
        case tooLarge
    }

    /// - Parameters:
    ///   - aps: as ``State/aps``. An end without `content-state` ends with the newest one. An update without an alert
    ///     takes over the one of an update that it replaces before that was sent.
    ///   - moment: when the state was so.
    ///   - id: of the notification that carries it, where that has to be a new one.
    ///   - fits: whether a state can be sent.
    package mutating func add(
        _ aps: JSONObject, priority: Int, at moment: Timestamp, expires: Timestamp, now: Timestamp,
        id: String, for audience: Audience = .activity,
        fits: (JSONObject) -> Bool = { _ in true }
    ) -> Addition {
        let known = waiting ?? taken?.state
        let isEnd = aps["event"] == .string("end")
        if let known {
            if known.isEnd, audience == .activity { return .ended }
            if moment < known.moment, !isEnd { return .outdated }
        }
        var aps = aps
        var priority = priority
        if aps["content-state"] == nil {
            aps["content-state"] = known?.aps["content-state"]
            guard fits(aps) else { return .tooLarge }
        }
        if !isEnd, aps["alert"] == nil, let waiting, !waiting.isEnd,
            let alert = waiting.aps["alert"]
        {
            var alerting = aps
            alerting["alert"] = alert
            if fits(alerting) {
                aps = alerting
                priority = max(priority, waiting.priority)
            }
        }
        // What comes after an end with an older moment must still not be older than what is known.
        let state = State(
            number: (known?.number ?? 0).saturatingAdd(1),
            moment: max(moment, known?.moment ?? moment),
            expires: expires, priority: priority, aps: aps)
        waiting = state
        var due = now
        if !state.isEnd, let taken { due = max(now, min(taken.moment, now) + audience.window) }
        if let carrier, carrier.due <= due { return .carried(carrier) }
        let new = Carrier(id: id, due: due)
        carrier = new
        return .carried(new)
    }

    /// What a notification is to send now that it is due; `nil` where another one has taken its place.
    ///
    /// Asked again, it answers the same until a newer state is known: whoever asked may have been killed, or the push
    /// service too busy.
    package mutating func take(by id: String, now: Timestamp) -> Taken? {
        if let waiting, carrier?.id == id {
            let seconds = max(waiting.moment.seconds, (taken?.seconds ?? 0).saturatingAdd(1))
            taken = Taken(state: waiting, carrier: id, moment: now, seconds: seconds)
            self.waiting = nil
            carrier = nil
        } else {
            guard waiting == nil, taken?.carrier == id else { return nil }
            taken?.moment = now
        }
        return taken
    }
}

extension ActivityFeed {
    /// Reads the form that ``json`` writes; `nil` where it is none.
    package init?(_ json: JSONValue) {
        guard let members = json.object else { return nil }
        if let waiting = members["waiting"] {
            guard let state = State(waiting), let carrier = members["carrier"]?.object,
                let id = carrier["id"]?.string, let due = carrier["due"]?.timestamp
            else { return nil }
            self.waiting = state
            self.carrier = Carrier(id: id, due: due)
        }
        if let taken = members["taken"]?.object {
            guard let state = taken["state"].flatMap(State.init),
                let carrier = taken["by"]?.string, let moment = taken["at"]?.timestamp,
                let seconds = taken["seconds"]?.count
            else { return nil }
            self.taken = Taken(state: state, carrier: carrier, moment: moment, seconds: seconds)
        }
    }

    /// `{"waiting", "carrier": {"id", "due"}, "taken": {"state", "by", "at", "seconds"}}`, a state being
    /// `{"number", "at", "expires", "priority", "aps"}`; moments in milliseconds since 1970.
    package var json: JSONValue {
        var members = JSONObject()
        if let waiting, let carrier {
            members["waiting"] = waiting.json
            members["carrier"] = ["id": .string(carrier.id), "due": JSONValue(carrier.due)]
        }
        if let taken {
            members["taken"] = [
                "state": taken.state.json, "by": .string(taken.carrier),
                "at": JSONValue(taken.moment), "seconds": .integer(taken.seconds),
            ]
        }
        return .object(members)
    }
}

extension ActivityFeed.State {
    fileprivate init?(_ json: JSONValue) {
        guard let members = json.object, let number = members["number"]?.count,
            let moment = members["at"]?.timestamp, let expires = members["expires"]?.timestamp,
            let priority = members["priority"]?.integer, let aps = members["aps"]?.object
        else { return nil }
        self.init(
            number: number, moment: moment, expires: expires, priority: Int(priority), aps: aps)
    }

    fileprivate var json: JSONValue {
        [
            "number": .integer(number), "at": JSONValue(moment), "expires": JSONValue(expires),
            "priority": .integer(Int64(priority)), "aps": .object(aps),
        ]
    }
}

/// What a Live Activity's token, or a broadcast channel, is to get: an update at most once per ``window``, then the
/// newest state, and the end always.
///
/// A state is first added, whereupon a notification is made that is due when the window opens; whoever delivers
/// that one takes the newest state there is. So a state that was overtaken is never sent, and the newest one goes out
/// though nobody calls any more.
package struct ActivityFeed: Equatable, Sendable {
    /// APNs gives an app about one update in this time (Apple's guide to ActivityKit push notifications).
    package static let window = Interval.seconds(15)
    /// How far a state's moment may be ahead of the clock: callers' clocks differ.
    package static let mostAhead = Interval.hours(1)

    /// What an activity shows from a moment on.
    package struct State: Equatable, Sendable {
        /// Counts the activity's states from 1.
        package let number: Int64
        /// When it was so: a state from before the one that is known is outdated.
        package let moment: Timestamp
        /// After this nobody wants it any more.
        package let expires: Timestamp
        /// 10 where the user has to see it, else 5.
        package private(set) var priority: Int
        /// `event`, `content-state` and what else ActivityKit knows, but for `timestamp`.
        package internal(set) var aps: JSONObject
        /// Of an activity's own state: the number of the newest one of its session that was known then; 0 without one.
        package var after: Int64 = 0
        /// Of a session's end that came without a `content-state`: which state's it shows.
        package var shown: Place?
        /// Of a session's: the number of the newest state up to this one whose sender said no moment; 0 without one. That one is
        /// newer than all that was known before it.
        package var untimed: Int64 = 0

        package var isEnd: Bool { aps["event"] == .string("end") }

        fileprivate var place: Place { Place(number: number, moment: moment, untimed: untimed) }

        /// Takes over the alert of an update that is not sent, if there is none and there is room.
        fileprivate mutating func takeAlert(of other: State, fits: (JSONObject) -> Bool) {
            guard !isEnd, !other.isEnd, aps["alert"] == nil, let alert = other.aps["alert"] else {
                return
            }
            var alerting = aps
            alerting["alert"] = alert
            guard fits(alerting) else { return }
            aps = alerting
            priority = max(priority, other.priority)
        }
    }

    /// Where a state is among those of its feed, and when it was so.
    package struct Place: Equatable, Sendable {
        let number: Int64
        let moment: Timestamp
        /// As ``State/untimed``.
        let untimed: Int64
    }

    /// What waits for its turn.
    package private(set) var waiting: State?
    /// The notification that is to take it, and when it is due.
    package private(set) var carrier: Carrier?
    /// What was taken last, to be sent.
    package private(set) var taken: Taken?
    /// The number before its first state: a session's feeds count on.
    package let base: Int64

    package struct Carrier: Equatable, Sendable {
        /// The notification's id.
        package let id: String
        package let due: Timestamp
    }

    package struct Taken: Equatable, Sendable {
        package internal(set) var state: State
        /// The notification that took it.
        package let carrier: String
        /// When it was, at the last attempt.
        package internal(set) var moment: Timestamp
        /// What goes into `aps`' `timestamp`: seconds, each later than the one before.
        package let seconds: Int64
        /// Of a session's: how many were taken with it; of an activity's own: how many of its session's were by then.
        package internal(set) var turn: Int64 = 0
    }

    /// - Parameter base: the number before its first state.
    package init(after base: Int64 = 0) {
        self.base = base
    }

    /// The newest state.
    package var known: State? { waiting ?? taken?.state }

    /// The newest state's number.
    package var number: Int64 { known?.number ?? base }

    /// What the states are sent to.
    package enum Scope: Sendable {
        /// One activity's token.
        case activity
        /// The activities that listen to a broadcast channel. Each state goes out as soon as it can, and after an end
        /// others may come to listen.
        case channel
        /// The activities that show a session: each of them may have got something else meanwhile.
        case session

        fileprivate var window: Interval { self == .channel ? .seconds(0) : ActivityFeed.window }

        /// Whether an end is the last state.
        fileprivate var isOver: Bool { self != .channel }
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
        /// It is to end with the newest state, and none is known.
        case stateless
    }

    /// - Parameters:
    ///   - aps: as ``State/aps``. An end without `content-state` ends with the newest one; a session's, of which none is
    ///     known, with what each listener has. An update without an alert takes over the one of an update that it replaces
    ///     before that was sent.
    ///   - moment: when the state was so; `nil`: now, and it is newer than all before.
    ///   - id: of the notification that carries it, where that has to be a new one.
    ///   - shared: what the activity got by its session, which has not ended.
    ///   - content: with which an end goes that has none, where no state is known.
    ///   - fits: whether a state can be sent.
    package mutating func add(
        _ aps: JSONObject, priority: Int, at moment: Timestamp?, expires: Timestamp, now: Timestamp,
        id: String, for scope: Scope = .activity, besides shared: ActivityFeed? = nil,
        content: JSONValue? = nil, fits: (JSONObject) -> Bool = { _ in true }
    ) -> Addition {
        let known = newest(besides: shared?.known, now: now)
        let isEnd = aps["event"] == .string("end")
        var latest = moment ?? now
        if let known {
            if known.isEnd, scope.isOver { return .ended }
            // A moment that is further ahead was stored while the clock was wrong.
            if known.moment - now <= Self.mostAhead {
                if let moment, moment < known.moment, !isEnd { return .outdated }
                latest = max(latest, known.moment)
            }
        }
        var aps = aps
        var shown: Place?
        if aps["content-state"] == nil {
            aps["content-state"] = known?.aps["content-state"] ?? content
            guard aps["content-state"] != nil || scope == .session else { return .stateless }
            if scope == .session {
                shown =
                    known?.place ?? Place(number: 0, moment: Timestamp(milliseconds: 0), untimed: 0)
            }
            guard fits(aps) else { return .tooLarge }
        }
        // What comes after an end with an older moment must still not be older than what is known.
        var state = State(
            number: number.saturatingAdd(1), moment: latest,
            expires: expires, priority: priority, aps: aps, after: shared?.number ?? 0,
            shown: shown)
        if scope == .session {
            state.untimed = moment == nil ? state.number : self.known?.untimed ?? 0
        }
        if let waiting { state.takeAlert(of: waiting, fits: fits) }
        waiting = state
        var due = now
        if !state.isEnd, let last = [taken, shared?.taken].compactMap({ $0?.moment }).max() {
            due = max(now, min(last, now) + scope.window)
        }
        if let carrier, carrier.due <= due { return .carried(carrier) }
        let new = Carrier(id: id, due: due)
        carrier = new
        return .carried(new)
    }

    /// Lets what waits take over the alert of what was taken: that one's push was put off, and will not go out.
    ///
    /// - Parameter fits: whether a state can be sent.
    package mutating func keepAlert(fits: (JSONObject) -> Bool) {
        if let taken { waiting?.takeAlert(of: taken.state, fits: fits) }
    }

    /// Follows a session from now on: what the activity was sent alone comes before the session's later states.
    ///
    /// - Parameters:
    ///   - number: of the session's newest state.
    ///   - turn: how many of the session's states were taken.
    package mutating func follow(after number: Int64, turn: Int64) {
        waiting?.after = number
        taken?.state.after = number
        taken?.turn = turn
    }

    /// Leaves a session. What the activity was sent alone before the session's last state does not go out after it.
    ///
    /// - Parameters:
    ///   - last: what the session's carrier took last for the activity.
    ///   - isMissed: whether that is an end that has not reached the activity, and never will: the activity goes on.
    package mutating func leave(after last: Taken, isMissed: Bool, now: Timestamp) {
        guard known?.isEnd != true else { return }
        let isEnd = last.state.isEnd
        var aps = last.state.aps
        if isEnd, let merged = merged(into: last, now: now, fits: { _ in true }) {
            aps = merged.state.aps
        }
        if !isEnd || isMissed {
            // Nobody sends it again: it tells what was sent before what comes next.
            aps["event"] = "update"
            aps["alert"] = nil
            aps["dismissal-date"] = nil
        }
        let state = State(
            number: number, moment: last.state.moment, expires: last.state.expires,
            priority: last.state.priority, aps: aps)
        let seconds = seconds(of: last)
        if let waiting, isEnd || !waiting.isNewer(than: last.state.place, now: now) {
            self.waiting = nil
            carrier = nil
        }
        if let taken, !isEnd, taken.state.isNewer(than: last.state.place, now: now) { return }
        taken = Taken(
            state: state, carrier: last.carrier, moment: last.moment, seconds: seconds)
    }

    /// The end that a notification is to take or has taken; `nil` where the newest state is none.
    package var end: Taken? {
        guard let known, known.isEnd, let endCarrier else { return nil }
        return taken?.carrier == endCarrier
            ? taken
            : Taken(
                state: known, carrier: endCarrier, moment: known.moment,
                seconds: known.moment.seconds)
    }

    /// Forgets the notification that is to take what waits, so that the next state gets a new one: it has left the spool, or
    /// is not for all who are to get the state.
    package mutating func dropCarrier() { carrier = nil }

    /// The newest of the activity's own state and of its session's.
    private func newest(besides shared: State?, now: Timestamp) -> State? {
        guard let shared else { return known }
        guard let known, known.isEnd || known.isNewer(than: shared.place, now: now) else {
            return shared
        }
        return known
    }

    /// What a notification is to send now that it is due; `nil` where another one has taken its place.
    ///
    /// Asked again, it answers the same until a newer state is known: whoever asked may have been killed, or the push
    /// service too busy.
    ///
    /// - Parameters:
    ///   - shared: what the activity got by its session, which has not ended.
    ///   - turn: how many of the activity's session's were taken; `nil` for a session's own, which are counted.
    package mutating func take(
        by id: String, now: Timestamp, besides shared: ActivityFeed? = nil, turn: Int64? = nil
    ) -> Taken? {
        let isCarrier = carrier?.id == id
        let isTakenAgain = waiting == nil && taken?.carrier == id
        guard let state = isCarrier ? waiting : isTakenAgain ? taken?.state : nil else {
            return nil
        }
        let sent = shared?.taken
        if let sent, !state.isEnd, !state.isNewer(than: sent.state.place, now: now) {
            if isCarrier {
                waiting = nil
                carrier = nil
            }
            return nil
        }
        if isCarrier {
            let last = max(taken?.seconds ?? 0, sent.map { self.seconds(of: $0) } ?? 0)
            let seconds = max(state.moment.seconds, last.saturatingAdd(1))
            taken = Taken(
                state: state, carrier: id, moment: now, seconds: seconds,
                turn: turn ?? (taken?.turn ?? 0).saturatingAdd(1))
            waiting = nil
            carrier = nil
        } else {
            taken?.moment = now
        }
        return taken
    }

    /// The `timestamp` with which an activity gets what its session's carrier has taken, whose own feed this is. Where its own
    /// last one is ahead, each of the session's that follow is a second later than the one before.
    private func seconds(of shared: Taken) -> Int64 {
        guard let taken, taken.state.after < shared.state.number else { return shared.seconds }
        return max(shared.seconds, taken.seconds.saturatingAdd(max(shared.turn - taken.turn, 1)))
    }
}

// A session's listeners have one feed. Besides, each activity may have one of its own, with what was sent to it alone.
extension ActivityFeed {
    /// What a session's carrier has taken, as one of the listeners has to get it, whose own feed this is; `nil` where the
    /// listener got something newer, or will get it.
    ///
    /// - Parameters:
    ///   - isPutOff: whether what was taken last waits for another attempt: its push will not go out after this one, and leaves its
    ///     alert to it.
    ///   - fits: whether a state can be sent.
    package func merged(
        into shared: Taken, now: Timestamp, isPutOff: Bool = false, fits: (JSONObject) -> Bool
    ) -> Taken? {
        guard let known else { return shared }
        let isNewer = known.isNewer(than: shared.state.place, now: now)
        let isOver = known.isEnd || !shared.state.isEnd && isNewer
        guard !isOver, known.after < shared.state.number else { return nil }
        var state = shared.state
        if let shown = state.shown, known.isNewer(than: shown, now: now),
            let content = known.aps["content-state"]
        {
            var aps = state.aps
            aps["content-state"] = content
            if fits(aps) { state.aps = aps }
        }
        if let waiting { state.takeAlert(of: waiting, fits: fits) }
        if isPutOff, let taken { state.takeAlert(of: taken.state, fits: fits) }
        return Taken(
            state: state, carrier: shared.carrier, moment: shared.moment,
            seconds: seconds(of: shared))
    }

    /// How long a listener has to wait for a state of its session, whose own feed this is: it was sent another one just now.
    package func pause(before shared: Taken, now: Timestamp) -> Interval? {
        guard let taken, !shared.state.isEnd else { return nil }
        guard taken.moment > now else { return Self.pause(after: taken.moment, now: now) }
        // The clock was set back since, nobody knows for how long: at most the session's next state has to wait.
        return shared.turn - taken.turn <= 1 ? Self.pause(after: shared.moment, now: now) : nil
    }

    /// How long the activity's own state has to wait that a notification is to take: its session's was sent just now.
    package func pause(of id: String, after shared: ActivityFeed?, now: Timestamp) -> Interval? {
        // With a higher number the session's was accepted later: the activity did not get it if this one is newer.
        guard let waiting, let carrier, carrier.id == id, !waiting.isEnd, let sent = shared?.taken,
            waiting.after >= sent.state.number
        else { return nil }
        return Self.pause(after: sent.moment > now ? carrier.due : sent.moment, now: now)
    }

    /// - Returns: `nil` after a moment that is ahead, too.
    private static func pause(after moment: Timestamp, now: Timestamp) -> Interval? {
        let pause = moment + window - now
        return pause > .seconds(0) && pause <= window ? pause : nil
    }
}

extension ActivityFeed.State {
    /// Of an activity's own state: whether it comes after one of its session that is no end. A moment that is far ahead was
    /// stored while the clock was wrong.
    fileprivate func isNewer(than shared: ActivityFeed.Place, now: Timestamp) -> Bool {
        if after >= shared.number { return true }
        return after >= shared.untimed && moment > shared.moment
            && moment - now <= ActivityFeed.mostAhead
    }
}

extension ActivityFeed {
    /// Reads the form that ``json`` writes; `nil` where it is none.
    package init?(_ json: JSONValue) {
        guard let members = json.object else { return nil }
        base = members["base"]?.count ?? 0
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
            self.taken = Taken(
                state: state, carrier: carrier, moment: moment, seconds: seconds,
                turn: taken["turn"]?.count ?? 0)
        }
    }

    /// `{"waiting", "carrier": {"id", "due"}, "taken": {"state", "by", "at", "seconds", "turn"?}, "base"?}`, a state being
    /// `{"number", "at", "expires", "priority", "aps", "after"?, "shown"?: {"number", "at", "untimed"?}, "untimed"?}`; moments in milliseconds since 1970.
    package var json: JSONValue {
        var members = JSONObject()
        members["base"] = base == 0 ? nil : .integer(base)
        if let waiting, let carrier {
            members["waiting"] = waiting.json
            members["carrier"] = ["id": .string(carrier.id), "due": JSONValue(carrier.due)]
        }
        if let taken {
            var json: JSONObject = [
                "state": taken.state.json, "by": .string(taken.carrier),
                "at": JSONValue(taken.moment), "seconds": .integer(taken.seconds),
            ]
            json["turn"] = taken.turn == 0 ? nil : .integer(taken.turn)
            members["taken"] = .object(json)
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
            number: number, moment: moment, expires: expires, priority: Int(priority), aps: aps,
            after: members["after"]?.count ?? 0,
            shown: members["shown"].flatMap(ActivityFeed.Place.init),
            // An earlier version said `true` of one without a moment, and nothing of those after it.
            untimed: members["untimed"]?.bool == true ? number : members["untimed"]?.count ?? 0)
    }

    fileprivate var json: JSONValue {
        var members: JSONObject = [
            "number": .integer(number), "at": JSONValue(moment), "expires": JSONValue(expires),
            "priority": .integer(Int64(priority)), "aps": .object(aps),
        ]
        members["after"] = after == 0 ? nil : .integer(after)
        members["untimed"] = untimed == 0 ? nil : .integer(untimed)
        members["shown"] = shown?.json
        return .object(members)
    }
}

extension ActivityFeed.Place {
    fileprivate init?(_ json: JSONValue) {
        guard let number = json.object?["number"]?.count, let moment = json.object?["at"]?.timestamp
        else { return nil }
        self.init(number: number, moment: moment, untimed: json.object?["untimed"]?.count ?? 0)
    }

    fileprivate var json: JSONValue {
        var members: JSONObject = ["number": .integer(number), "at": JSONValue(moment)]
        members["untimed"] = untimed == 0 ? nil : .integer(untimed)
        return .object(members)
    }
}

/// The states for a Live Activity's token or a broadcast channel: at most one update per ``window``, then the
/// newest state, and always the end.
///
/// A state is first added. That makes a notification (its carrier), which is due when the window opens. When
/// the carrier is delivered, it takes the newest state. So a state that was overtaken is never sent, and the
/// newest one is sent even if there is no further call.
package struct ActivityFeed: Equatable, Sendable {
    /// APNs allows an app about one update in this time (Apple's guide to ActivityKit push notifications).
    package static let window = Interval.seconds(15)
    /// How far a state's moment may be ahead of our clock: callers' clocks differ.
    package static let maximumLead = Interval.hours(1)

    /// The content that an activity shows from a moment on.
    package struct State: Equatable, Sendable {
        /// Counts the activity's states from 1.
        package let number: Int64
        /// When the state was true. A state from before the known one is outdated.
        package let moment: Timestamp
        /// The state is not worth delivering after this.
        package let expires: Timestamp
        /// 10 if the user has to see it, else 5.
        package private(set) var priority: Int
        /// `event`, `content-state` and the other members of ActivityKit, except `timestamp`.
        package internal(set) var aps: JSONObject
        /// For an activity's own state: the number of its session's newest state known then; 0 if there was
        /// none.
        package var after: Int64 = 0
        /// For a session's end without a `content-state`: the place of the state that it shows.
        package var shown: Place?
        /// For a session's state: the number of the newest state, up to this one, that was sent without a
        /// moment; 0 if there is none. Such a state is newer than everything known before it.
        package var untimed: Int64 = 0
        /// The alert that it took over from an earlier state; `nil` if it has its own or none.
        package fileprivate(set) var inherited: InheritedAlert?

        package var isEnd: Bool { aps["event"] == .string("end") }

        /// Until when its alert is worth delivering: an alert that it took over may be worth it longer.
        package var alertExpires: Timestamp { max(expires, inherited?.expires ?? expires) }

        /// The number of the state that brought its alert; `nil` if it has none.
        fileprivate var alertNumber: Int64? {
            aps["alert"] == nil ? nil : inherited?.number ?? number
        }

        fileprivate var place: Place { Place(number: number, moment: moment, untimed: untimed) }

        /// Takes over the alert of an update that is not sent, if this state has none and there is room.
        ///
        /// - Parameter isSession: whether the update is one of the session, and this state an activity's own.
        fileprivate mutating func takeAlert(
            of other: State, isSession: Bool = false, fits: (JSONObject) -> Bool
        ) {
            guard !isEnd, !other.isEnd, aps["alert"] == nil, let alert = other.aps["alert"] else {
                return
            }
            var alerting = aps
            alerting["alert"] = alert
            guard fits(alerting) else { return }
            aps = alerting
            inherited = InheritedAlert(
                number: other.inherited?.number ?? other.number, priority: priority,
                isSession: isSession || other.inherited?.isSession == true,
                expires: other.alertExpires)
            priority = max(priority, other.priority)
        }

        /// Drops an alert that it took over from a state up to `number`.
        fileprivate mutating func dropAlert(upTo number: Int64) {
            guard let alert = inherited, alert.number <= number else { return }
            aps["alert"] = nil
            priority = alert.priority
            inherited = nil
        }
    }

    /// An alert that a state has taken over from a state that it replaced.
    package struct InheritedAlert: Equatable, Sendable {
        /// The number of the state that brought it, in that state's feed.
        package let number: Int64
        /// The priority of the state that has taken it over, without it.
        let priority: Int
        /// Whether an activity's own state has taken it over from its session.
        package let isSession: Bool
        /// The alert is not worth delivering after this; `nil` if an earlier version took it over.
        let expires: Timestamp?
    }

    /// A state's place in its feed, and its moment.
    package struct Place: Equatable, Sendable {
        let number: Int64
        let moment: Timestamp
        /// As ``State/untimed``.
        let untimed: Int64
    }

    /// The state that waits to be sent.
    package private(set) var waiting: State?
    /// The notification that will take the waiting state, and when it is due.
    package private(set) var carrier: Carrier?
    /// The state last taken for sending.
    package private(set) var taken: Taken?
    /// For a session: the last state with an alert, if one without was taken since.
    package private(set) var lastAlert: State?
    /// For a session: the last states taken, at most eight, oldest first.
    package private(set) var recent: [Turn] = []
    /// For a listener: the last of its session's notifications that did not bring it an alert of the session and
    /// never will, at most eight.
    package private(set) var dropped: [String] = []
    /// For a listener: the number of the newest of its session's alerts that a state of its own has brought, or
    /// may have; 0 if there is none.
    package private(set) var brought: Int64 = 0
    /// The number before its first state: a session's feeds continue counting.
    package let base: Int64

    package struct Carrier: Equatable, Sendable {
        /// The notification's id.
        package let id: String
        /// The moment before which the state is not sent. The notification may be due sooner.
        package let due: Timestamp
    }

    package struct Taken: Equatable, Sendable {
        package internal(set) var state: State
        /// The id of the notification that took it.
        package let carrier: String
        /// When it was taken, at the last attempt.
        package internal(set) var moment: Timestamp
        /// The `timestamp` of `aps`, in seconds. Each is later than the one before.
        package let seconds: Int64
        /// For a session's state: how many states were taken up to this one. For an activity's own: how many
        /// of its session's states were taken by then.
        package internal(set) var turn: Int64 = 0

        /// A session's state as a listener gets it: without the alert of a state from before it joined.
        ///
        /// - Parameter joined: the newest state's number when the listener joined.
        package func adapted(toListenerSince joined: Int64) -> Taken {
            var taken = self
            taken.state.dropAlert(upTo: joined)
            return taken
        }
    }

    /// A state, and the notification that took it.
    package struct Turn: Equatable, Sendable {
        /// The state's number.
        package let number: Int64
        package let carrier: String
    }

    /// Creates an empty feed.
    ///
    /// - Parameter base: the number before its first state.
    package init(after base: Int64 = 0) {
        self.base = base
    }

    /// A session's feed as a listener sees it: without the alerts of states from before it joined.
    ///
    /// - Parameter joined: the newest state's number when the listener joined.
    package func adapted(toListenerSince joined: Int64) -> ActivityFeed {
        var feed = self
        feed.waiting?.dropAlert(upTo: joined)
        feed.taken = feed.taken?.adapted(toListenerSince: joined)
        if let alert = feed.lastAlert?.alertNumber, alert <= joined { feed.lastAlert = nil }
        return feed
    }

    /// The newest state.
    package var known: State? { waiting ?? taken?.state }

    /// The newest state's number.
    package var number: Int64 { known?.number ?? base }

    /// The target of the states.
    package enum Scope: Sendable {
        /// One activity's token.
        case activity
        /// The activities that listen to a broadcast channel. Each state is sent as soon as possible, and
        /// other activities may join after an end.
        case channel
        /// The activities that show a session. Each of them may have got something else meanwhile.
        case session

        fileprivate var window: Interval { self == .channel ? .seconds(0) : ActivityFeed.window }

        /// Whether nothing may follow an end.
        fileprivate var isEndFinal: Bool { self != .channel }
    }

    /// The notification that carries an end or has carried it, while nothing newer is known.
    package var endCarrier: String? {
        if let waiting { return waiting.isEnd ? carrier?.id : nil }
        return taken?.state.isEnd == true ? taken?.carrier : nil
    }

    /// Whether a state has an alert and is older than the state that its session last took: that one takes over
    /// the alert when it is sent to this activity. The state waits, or notification `id` has taken it and is to be
    /// sent again.
    package func leavesAlert(
        by id: String, to shared: ActivityFeed, now: Timestamp
    ) -> Bool {
        guard let sent = shared.taken, !sent.state.isEnd else { return false }
        let again = waiting == nil && taken?.carrier == id ? taken?.state : nil
        guard let state = waiting ?? again, !state.isEnd, state.aps["alert"] != nil,
            state.alertExpires > now
        else { return false }
        return !state.isNewer(than: sent.state.place, now: now)
    }

    /// The notifications that carry the known states or have carried them.
    package var carriers: [String] { [carrier?.id, taken?.carrier].compactMap { $0 } }

    /// The result of adding a state.
    package enum Addition: Equatable, Sendable {
        /// It is sent with this notification, which must be in the spool.
        case carried(Carrier)
        /// A newer one is known.
        case outdated
        /// The activity has ended.
        case ended
        /// It is an end with the newest known state, and the two together are too large.
        case tooLarge
        /// It is an end with the newest state, and none is known.
        case stateless
    }

    /// Adds a state.
    ///
    /// - Parameters:
    ///   - aps: as ``State/aps``. An end without `content-state` ends with the newest one, or, for a session
    ///     without a known state, with what each listener has. An update without an alert takes over the
    ///     alert of a waiting update that it replaces.
    ///   - moment: when the state was true; `nil` for now, and newer than all states before.
    ///   - id: the id of the notification that carries it, if a new one is needed.
    ///   - shared: what the activity got through its session, which has not ended.
    ///   - content: the content of an end that has none, if no state is known.
    ///   - fits: whether a state can be sent.
    package mutating func add(
        _ aps: JSONObject, priority: Int, at moment: Timestamp?, expires: Timestamp, now: Timestamp,
        id: String, for scope: Scope = .activity, besides shared: ActivityFeed? = nil,
        content: JSONValue? = nil, fits: (JSONObject) -> Bool = { _ in true }
    ) -> Addition {
        let known = newest(besides: shared?.known, now: now)
        let isEnd = aps["event"] == .string("end")
        if known?.isEnd == true, scope.isEndFinal { return .ended }
        var latest = moment ?? now
        // A session's state without a moment is newer than the activity's own, but may have an earlier moment.
        let own = self.known.flatMap { own in
            own.moment - (known?.moment ?? own.moment) <= Self.maximumLead ? own : nil
        }
        // A moment further ahead was stored while the clock was wrong.
        for case let other? in [known, own] where other.moment - now <= Self.maximumLead {
            if let moment, moment < other.moment, !isEnd { return .outdated }
            latest = max(latest, other.moment)
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
        // A state after an end may have an older moment, but must not count as older than what is known.
        var state = State(
            number: number.saturatingAdd(1), moment: latest,
            expires: expires, priority: priority, aps: aps, after: shared?.number ?? 0,
            shown: shown)
        if scope == .session {
            state.untimed = moment == nil ? state.number : self.known?.untimed ?? 0
        }
        // This activity does not get its session's waiting state any more. Of two alerts it gets the newer.
        var replaced = [(waiting, isSession: false), (shared?.waiting, isSession: true)]
        if let waiting, let other = shared?.waiting, !waiting.isNewer(than: other.place, now: now) {
            replaced.reverse()
        }
        for case let (other?, isSession) in replaced {
            state.takeAlert(of: other, isSession: isSession, fits: fits)
        }
        waiting = state
        var due = now
        if !state.isEnd, let last = [taken, shared?.taken].compactMap({ $0?.moment }).max() {
            due = max(now, min(last, now) + scope.window)
        }
        var carrier = Carrier(id: id, due: due)
        if let earlier = self.carrier, earlier.due <= due {
            // A notification that is due sooner than the state waits.
            carrier = Carrier(id: earlier.id, due: due > now ? due : earlier.due)
        }
        self.carrier = carrier
        return .carried(carrier)
    }

    /// Lets the waiting state take over the alert of the taken one, if that one's push was put off and is
    /// replaced: the waiting state goes out in its place, now or, if `id` is the taken one's notification,
    /// when the waiting state's own is due.
    ///
    /// - Parameters:
    ///   - id: the notification that is about to take a state.
    ///   - isInDoubt: whether an earlier attempt of this notification may have arrived.
    ///   - isMissed: whether a notification waits for another attempt and cannot have arrived yet.
    ///   - fits: whether a state can be sent.
    package mutating func keepAlert(
        from id: String, now: Timestamp, isInDoubt: Bool,
        isMissed: (_ carrier: String) throws(Failure) -> Bool, fits: (JSONObject) -> Bool
    ) throws(Failure) {
        guard let taken, taken.state.aps["alert"] != nil, taken.state.alertExpires > now else {
            return
        }
        let isReplaced =
            carrier?.id == id ? try isMissed(taken.carrier) : taken.carrier == id && !isInDoubt
        if isReplaced { waiting?.takeAlert(of: taken.state, fits: fits) }
    }

    /// Lets the taken state take over an alert of its session that the activity has not got and will not get
    /// otherwise.
    ///
    /// - Parameter fits: whether a state can be sent.
    package mutating func takeAlert(of session: State, fits: (JSONObject) -> Bool) {
        guard let taken, taken.state.after >= session.number else { return }
        self.taken?.state.takeAlert(of: session, isSession: true, fits: fits)
        if hasTaken(session) { dropped = [] }
    }

    /// Whether the taken state has taken over the alert of a state of its session.
    package func hasTaken(_ alert: State) -> Bool {
        guard let inherited = taken?.state.inherited, inherited.isSession else { return false }
        return inherited.number == alert.alertNumber
    }

    /// Whether a state of its own has brought the alert of a state of its session, or may have.
    package func hasBrought(_ alert: State) -> Bool {
        alert.alertNumber.map { $0 <= brought } ?? false
    }

    /// Records that a state of its own has brought its session's alert of this number, or may have.
    package mutating func didBring(_ number: Int64) { brought = max(brought, number) }

    /// The newest state with an alert that a session has sent to its listeners.
    package var newestAlert: State? {
        if let taken, taken.state.aps["alert"] != nil { return taken.state }
        return lastAlert
    }

    /// Records that a notification of its session did not bring the listener an alert of the session, and never
    /// will.
    package mutating func recordDrop(of carrier: String) {
        guard !dropped.contains(carrier) else { return }
        dropped = (dropped + [carrier]).suffix(8)
    }

    /// Follows a session from now on: what was sent to the activity alone comes before the session's later
    /// states.
    ///
    /// - Parameters:
    ///   - number: the number of the session's newest state.
    ///   - turn: how many of the session's states were taken.
    package mutating func follow(after number: Int64, turn: Int64) {
        brought = 0
        waiting?.after = number
        taken?.state.after = number
        taken?.turn = turn
    }

    /// Leaves a session. A state that was sent to the activity alone before the session's last state is not
    /// sent after it.
    ///
    /// - Parameters:
    ///   - last: what the session's carrier last took for the activity.
    ///   - isMissed: whether that is an end that did not reach the activity and never will: the activity goes
    ///     on.
    package mutating func leave(after last: Taken, isMissed: Bool, now: Timestamp) {
        guard known?.isEnd != true else { return }
        let isEnd = last.state.isEnd
        var aps = last.state.aps
        if isEnd, let merged = merged(into: last, now: now, fits: { _ in true }) {
            aps = merged.state.aps
        }
        if !isEnd || isMissed {
            // It is not sent again. It only separates what was sent before from what comes next.
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

    /// The end that a notification takes or has taken; `nil` if the newest state is not an end.
    package var end: Taken? {
        guard let known, known.isEnd, let endCarrier else { return nil }
        return taken?.carrier == endCarrier
            ? taken
            : Taken(
                state: known, carrier: endCarrier, moment: known.moment,
                seconds: known.moment.seconds)
    }

    /// Forgets the carrier, so that the next state gets a new one: the carrier has left the spool or is not
    /// for all who must get the state.
    package mutating func dropCarrier() { carrier = nil }

    /// The newer of the activity's own state and its session's.
    private func newest(besides shared: State?, now: Timestamp) -> State? {
        guard let shared else { return known }
        guard let known, known.isEnd || known.isNewer(than: shared.place, now: now) else {
            return shared
        }
        return known
    }

    /// Takes the state that a notification must send now; `nil` if another notification has replaced it.
    ///
    /// Asked again, it gives the same answer until a newer state is known: the program that asked may have
    /// been killed, or the push service may have been too busy.
    ///
    /// - Parameters:
    ///   - shared: what the activity got through its session, which has not ended.
    ///   - turn: how many of the session's states were taken; `nil` for a session's own feed, which counts
    ///     them.
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
        // Whatever comes next takes over its alert.
        if turn != nil, leavesAlert(by: id, now: now) { return nil }
        if isCarrier {
            if turn == nil { remember(state, by: id) }
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

    /// Whether the waiting state, which a notification carries, has expired and its alert has not.
    package func leavesAlert(by id: String, now: Timestamp) -> Bool {
        guard carrier?.id == id, let waiting, !waiting.isEnd else { return false }
        return waiting.expires <= now && waiting.aps["alert"] != nil && waiting.alertExpires > now
    }

    /// Remembers a session's last alert when the next state is taken, and the notification that takes it.
    private mutating func remember(_ next: State, by carrier: String) {
        if next.isEnd || next.aps["alert"] != nil {
            lastAlert = nil
        } else if let taken, taken.state.aps["alert"] != nil {
            lastAlert = taken.state
        }
        recent = (recent + [Turn(number: next.number, carrier: carrier)]).suffix(8)
    }

    /// What a session's carrier has taken, with the session's last alert, for a listener that did not get that.
    ///
    /// - Parameter fits: whether a state can be sent.
    package func alerting(_ shared: Taken, fits: (JSONObject) -> Bool) -> Taken {
        var shared = shared
        if let lastAlert { shared.state.takeAlert(of: lastAlert, fits: fits) }
        return shared
    }

    /// Records another attempt to send what a notification has taken.
    package mutating func recordAttempt(by id: String, at now: Timestamp) {
        if taken?.carrier == id { taken?.moment = now }
    }

    /// The `timestamp` with which an activity gets what its session's carrier took. `self` is the activity's
    /// own feed. If its own last timestamp is ahead, each of the session's following states is a second later
    /// than the one before.
    private func seconds(of shared: Taken) -> Int64 {
        guard let taken, taken.state.after < shared.state.number else { return shared.seconds }
        return max(shared.seconds, taken.seconds.saturatingAdd(max(shared.turn - taken.turn, 1)))
    }
}

// A session's listeners share one feed. Each activity may also have a feed of its own, with what was sent to
// it alone.
extension ActivityFeed {
    /// The state that a session's carrier has taken, adapted to one listener, whose own feed this is; `nil`
    /// if the listener got something newer or will get it.
    ///
    /// - Parameters:
    ///   - alert: the session's last state with an alert, if this one has none.
    ///   - isMissed: whether the listener's last taken state waits for another attempt, and cannot have arrived
    ///     yet. Its push will not be sent after this one and leaves its alert to it.
    ///   - fits: whether a state can be sent.
    package func merged(
        into shared: Taken, now: Timestamp, after alert: State? = nil, isMissed: Bool = false,
        fits: (JSONObject) -> Bool
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
        // A state of its own has replaced the alert, or has taken it over.
        state.dropAlert(upTo: known.after)
        // Its own alert must not come after a newer one of the session's.
        for case let own? in [waiting, isMissed ? taken?.state : nil]
        where own.after >= alert?.alertNumber ?? 0 {
            state.takeAlert(of: own, fits: fits)
        }
        return Taken(
            state: state, carrier: shared.carrier, moment: shared.moment,
            seconds: seconds(of: shared))
    }

    /// Drops the alerts of states up to `number`: a state of its session has brought one of them, and it was the
    /// newest.
    package mutating func dropAlerts(upTo number: Int64) {
        if let waiting, waiting.number <= number { self.waiting?.aps["alert"] = nil }
        if let taken, taken.state.number <= number { self.taken?.state.aps["alert"] = nil }
    }

    /// How long a listener, whose own feed this is, must wait for a state of its session because it was just
    /// sent another one.
    package func pause(before shared: Taken, now: Timestamp) -> Interval? {
        guard let taken, !shared.state.isEnd else { return nil }
        guard taken.moment > now else { return Self.pause(after: taken.moment, now: now) }
        // The clock was set back by an unknown amount: at most the session's next state has to wait.
        return shared.turn - taken.turn <= 1 ? Self.pause(after: shared.moment, now: now) : nil
    }

    /// How long the waiting state must wait if notification `id` carries it. The notification may have been
    /// made for an earlier state, before the activity was sent a state of its session. It may also be due
    /// early, because the clock was set back: then the last state may have been sent again just before.
    package func pause(of id: String, now: Timestamp) -> Interval? {
        guard let waiting, let carrier, carrier.id == id, !waiting.isEnd else { return nil }
        return Self.pause(after: carrier.due - Self.window, now: now)
            ?? taken.flatMap { Self.pause(after: $0.moment, now: now) }
    }

    /// - Returns: `nil` also if the moment is in the future.
    private static func pause(after moment: Timestamp, now: Timestamp) -> Interval? {
        let pause = moment + window - now
        return pause > .seconds(0) && pause <= window ? pause : nil
    }
}

extension ActivityFeed.State {
    /// For an activity's own state: whether it comes after a session's state that is not an end. A moment far
    /// ahead was stored while the clock was wrong.
    fileprivate func isNewer(than shared: ActivityFeed.Place, now: Timestamp) -> Bool {
        if after >= shared.number { return true }
        return after >= shared.untimed && moment > shared.moment
            && moment - now <= ActivityFeed.maximumLead
    }
}

extension ActivityFeed {
    /// Reads the form that ``json`` writes; `nil` for anything else.
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
        if let json = members["taken"] {
            guard let taken = Taken(json) else { return nil }
            self.taken = taken
        }
        if let json = members["last_alert"] {
            guard let state = State(json) else { return nil }
            lastAlert = state
        }
        for json in members["recent"]?.array ?? [] {
            guard let turn = Turn(json) else { return nil }
            recent.append(turn)
        }
        dropped = members["dropped"]?.texts ?? []
        brought = members["brought"]?.count ?? 0
    }

    /// `{"waiting", "carrier": {"id", "due"}, "taken": {"state", "by", "at", "seconds", "turn"?}, "base"?,
    /// "last_alert"?: state, "recent"?: [{"number", "by"}], "dropped"?: [id], "brought"?}`. A state is `{"number", "at",
    /// "expires", "priority", "aps", "after"?, "shown"?: {"number", "at", "untimed"?}, "untimed"?,
    /// "inherited"?: {"number", "priority", "session"?: true, "expires"?}}`. Moments are milliseconds since 1970.
    package var json: JSONValue {
        var members = JSONObject()
        members["base"] = base == 0 ? nil : .integer(base)
        if let waiting, let carrier {
            members["waiting"] = waiting.json
            members["carrier"] = ["id": .string(carrier.id), "due": JSONValue(carrier.due)]
        }
        members["taken"] = taken?.json
        members["last_alert"] = lastAlert?.json
        members["recent"] = recent.isEmpty ? nil : .array(recent.map { $0.json })
        members["dropped"] = dropped.isEmpty ? nil : JSONValue(texts: dropped)
        members["brought"] = brought == 0 ? nil : .integer(brought)
        return .object(members)
    }
}

extension ActivityFeed.Taken {
    fileprivate init?(_ json: JSONValue) {
        guard let members = json.object,
            let state = members["state"].flatMap(ActivityFeed.State.init),
            let carrier = members["by"]?.string, let moment = members["at"]?.timestamp,
            let seconds = members["seconds"]?.count
        else { return nil }
        self.init(
            state: state, carrier: carrier, moment: moment, seconds: seconds,
            turn: members["turn"]?.count ?? 0)
    }

    fileprivate var json: JSONValue {
        var members: JSONObject = [
            "state": state.json, "by": .string(carrier), "at": JSONValue(moment),
            "seconds": .integer(seconds),
        ]
        members["turn"] = turn == 0 ? nil : .integer(turn)
        return .object(members)
    }
}

extension ActivityFeed.Turn {
    fileprivate init?(_ json: JSONValue) {
        guard let members = json.object, let number = members["number"]?.count,
            let carrier = members["by"]?.string
        else { return nil }
        self.init(number: number, carrier: carrier)
    }

    fileprivate var json: JSONValue { ["number": .integer(number), "by": .string(carrier)] }
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
            // An earlier version wrote `true` for a state without a moment and nothing for those after it.
            untimed: members["untimed"]?.bool == true ? number : members["untimed"]?.count ?? 0,
            inherited: members["inherited"].flatMap(ActivityFeed.InheritedAlert.init))
    }

    fileprivate var json: JSONValue {
        var members: JSONObject = [
            "number": .integer(number), "at": JSONValue(moment), "expires": JSONValue(expires),
            "priority": .integer(Int64(priority)), "aps": .object(aps),
        ]
        members["after"] = after == 0 ? nil : .integer(after)
        members["untimed"] = untimed == 0 ? nil : .integer(untimed)
        members["inherited"] = inherited?.json
        members["shown"] = shown?.json
        return .object(members)
    }
}

extension ActivityFeed.InheritedAlert {
    fileprivate init?(_ json: JSONValue) {
        guard let members = json.object, let number = members["number"]?.count,
            let priority = members["priority"]?.integer
        else { return nil }
        self.init(
            number: number, priority: Int(priority), isSession: members["session"]?.bool == true,
            expires: members["expires"]?.timestamp)
    }

    fileprivate var json: JSONValue {
        var members: JSONObject = [
            "number": .integer(number), "priority": .integer(Int64(priority)),
        ]
        members["session"] = isSession ? true : nil
        members["expires"] = expires.map { JSONValue($0) }
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

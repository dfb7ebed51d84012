import Documents
import JSON
import Spool
import Store
import Turnstone

/// Loads the pushes of Live Activities with the newest state at the time of sending. An older state never
/// follows a newer one.
struct ActivityStates: RunPart {
    let run: Run
    let documents: LastDocuments

    /// - Returns: a verdict if the push is not sent now; `nil` if it is loaded.
    func load(_ push: Push, to channel: ChannelID) throws(Failure) -> Verdict? {
        let id = push.job.notification.id
        func isMissed(_ carrier: String) throws(Failure) -> Bool {
            guard !intake.mayHaveArrived(carrier) else { return false }
            return try spool.isMissed(carrier)
        }
        // The verdict of the push that is to bring an alert tells whether this state must take it over.
        if let feed = try state.channels[channel].read()?.feed, let taken = feed.taken,
            taken.carrier != id, taken.state.aps["alert"] != nil, taken.state.alertExpires > now,
            feed.waiting?.aps["alert"] == nil, intake.hasInHand(taken.carrier)
        {
            guard !run.broadcastsUnderWay.contains(taken.carrier) else { return .soon }
            guard try isMissed(taken.carrier) else { return .soon }
        }
        let taken = try state.channels[channel].update { (document) throws(Failure) in
            try document.feed?.keepAlert(
                from: id, now: now, isInDoubt: push.job.file.isInDoubt(push.delivery),
                isMissed: isMissed, fits: { fits($0, in: limit(push)) })
            return document.feed?.take(by: id, now: now, turn: 0)
        }
        return fill(push, taken)
    }

    /// - Returns: a verdict if the push is not sent now; `nil` if it is loaded.
    func load(_ push: Push, to device: Device, of user: UserID) throws(Failure) -> Verdict? {
        if let session = push.job.notification.session {
            return try load(push, of: session, to: device, of: user)
        }
        let id = push.job.notification.id
        let session = try device.sessionID.flatMap { (name) throws(Failure) in
            try documents.session(name)
        }
        // After the session's end, only the activity's own end is sent.
        if session?.hasEnded(for: device.joined) == true, device.activity?.known?.isEnd != true {
            return .superseded(.newer)
        }
        let shared = session?.feed(for: device.joined)
        // Until its session's newer state has been sent to it, that one may need this one's alert.
        if let shared, device.activity?.leavesAlert(by: id, to: shared, now: now) == true,
            !push.job.file.isInDoubt(push.delivery),
            let due = try nextDue(of: shared, push, on: device)
        {
            return .behind(for: max(due, now) + .seconds(1) - now)
        }
        // The session's push that was to bring it an alert is not sent after this one.
        var alert: ActivityFeed.State?
        if let shared, let newest = shared.newestAlert, newest.alertExpires > now,
            try !hasGot(newest, of: shared, push, on: device)
        {
            alert = newest
        }
        var pause: Interval?
        var isExpired = false
        let taken = try state.users[user].update { (document) throws(Failure) in
            // Only under the lock is it certain what the call that accepted this push has recorded, and
            // which token the activity has.
            guard let present = document.device(device.token, id: device.id),
                present.token == device.token
            else {
                pause = .seconds(1)
                return nil as ActivityFeed.Taken?
            }
            pause = present.activity?.pause(of: id, now: now)
            guard pause == nil else { return nil }
            isExpired = present.activity?.leavesAlert(by: id, now: now) == true
            return try document.takeActivity(
                of: device.token, by: id, now: now, besides: shared, alert: alert,
                turn: session?.turn ?? 0, isInDoubt: push.job.file.isInDoubt(push.delivery),
                isMissed: { (carrier) throws(Failure) in
                    try spool.isMissed(carrier, by: device.ids)
                },
                fits: { fits($0) })
        }
        if let pause { return .behind(for: pause) }
        push.foreignAlert = nil
        if let inherited = taken?.state.inherited, inherited.isSession {
            push.foreignAlert = (user, .session(inherited.number))
        }
        return taken == nil && isExpired ? .expired : fill(push, taken)
    }

    /// When a session's state is due that is still to be sent to a listener: the newest one that was taken, or
    /// the one that waits to replace it. `nil` if there is none.
    private func nextDue(
        of session: ActivityFeed, _ push: Push, on device: Device
    ) throws(Failure) -> Timestamp? {
        let names = try documents.userDevices(of: push, on: device)
        let waiting = session.waiting?.isEnd == false ? session.carrier?.id : nil
        for case let carrier? in [session.taken?.carrier, waiting]
        where try intake.isOpen(carrier, forAnyOf: names) {
            if let due = try intake.due(carrier, at: now) { return due }
        }
        return nil
    }

    /// Loads a push for a listener of a session.
    ///
    /// - Parameter known: the listener's device, as it was before.
    private func load(
        _ push: Push, of session: String, to known: Device, of user: UserID
    ) throws(Failure) -> Verdict? {
        var device = known
        let id = push.job.notification.id
        if let end = device.activity?.taken, end.state.isEnd, end.carrier == id {
            // The listener has left the session since. It may have got this end already, so the end is
            // repeated.
            push.load(content(of: end, like: push), expires: end.state.expires)
            return nil
        }
        // The device may have registered for another session since.
        guard device.sessionID?.utf8.elementsEqual(session.utf8) == true else {
            return .superseded(.unregistered)
        }
        var feeds = try documents.session(session)
        if let pause = feeds?.pause(of: id, now: now) { return .behind(for: pause) }
        var shared = feeds?.taken(by: id, now: now)
        let isFirst = shared == nil
        if isFirst {
            shared = try take(from: session, by: push.job)
            feeds = try documents.session(session)
        }
        guard let shared else {
            return try endReplaced(push, feeds?.feed(for: device.joined), device, of: user)
        }
        if isFirst {
            // A state of the activity's own may have taken over the alert just before.
            let document = try documents.user(user)
            guard let place = document.devices.firstIndex(where: { $0.token == known.token }) else {
                return .soon
            }
            device = document.devices[place]
        }
        // The listener may have left and come back since. A state from before it came back is not for it.
        guard shared.state.number > device.joined else { return .superseded(.unregistered) }
        load(shared, into: push)
        push.foreignAlert = nil
        var own = shared.adapted(toListenerSince: device.joined)
        let feed = feeds?.feed(for: device.joined)
        var lacksAlert = false
        if let feed, own.state.aps["alert"] == nil, !own.state.isEnd {
            lacksAlert = try !hasGotAlert(of: feed, push, on: device)
            if lacksAlert { own = feed.alerting(own, fits: { fits($0) }) }
        }
        var isOwn = own.state.inherited != shared.state.inherited
        if let activity = device.activity {
            if let pause = activity.pause(before: own, now: now) { return .behind(for: pause) }
            guard let merged = try merged(activity, of: device, into: own, of: feed) else {
                // A state of its own, which goes out in this one's place, takes over the alert.
                if let feed, let alert = feed.newestAlert, alert.alertExpires > now,
                    !activity.hasTaken(alert), try !hasGot(alert, of: feed, push, on: device)
                {
                    try recordDrop(of: push, to: device, of: user)
                }
                return .superseded(.newer)
            }
            var takesAlert = false
            if merged.state.aps["alert"] != nil {
                var silent = activity
                silent.dropAlerts(upTo: .max)
                let others = silent.merged(
                    into: own, now: now, after: feed?.lastAlert, fits: { fits($0) })
                takesAlert = others?.state.aps["alert"] == nil
            }
            push.foreignAlert = takesAlert ? (user, .own(upTo: activity.number)) : nil
            own = merged
            isOwn = true
        }
        if lacksAlert, own.state.expires <= now { try recordDrop(of: push, to: device, of: user) }
        if isOwn { push.load(content(of: own, like: push), expires: own.state.expires) }
        try recordAttempt(shared, of: session, by: push.job)
        return nil
    }

    /// The verdict about a push whose state its session has replaced by a newer one. A push that was to bring
    /// the session's last alert waits until the state that takes over the alert has been sent to this listener.
    private func endReplaced(
        _ push: Push, _ feed: ActivityFeed?, _ device: Device, of user: UserID
    ) throws(Failure) -> Verdict {
        let id = push.job.notification.id
        guard let feed, let alert = feed.lastAlert, alert.alertExpires > now,
            let own = feed.recent.first(where: { $0.carrier == id }), own.number >= alert.number
        else { return .superseded(.newer) }
        let names = try documents.userDevices(of: push, on: device)
        for turn in feed.recent where turn.number > own.number {
            guard try intake.isOpen(turn.carrier, forAnyOf: names),
                let due = try intake.due(turn.carrier, at: now)
            else { continue }
            return .behind(for: max(due, now) + .seconds(1) - now)
        }
        if try !hasGotAlert(of: feed, push, on: device) {
            try recordDrop(of: push, to: device, of: user)
        }
        return .superseded(.newer)
    }

    /// Records that a push that is not sent was to bring a listener an alert of its session that the listener
    /// has not got. It comes with the session's next state then.
    private func recordDrop(
        of push: Push, to device: Device, of user: UserID
    ) throws(Failure) {
        // An earlier attempt may have arrived.
        guard !push.job.file.isInDoubt(push.delivery) else { return }
        try state.users[user].update { document in
            guard let index = document.devices.firstIndex(where: { $0.token == device.token })
            else { return }
            var feed = document.devices[index].activity ?? ActivityFeed()
            feed.recordDrop(of: push.job.notification.id)
            document.devices[index].activity = feed
        }
    }

    /// ``hasGot(_:of:_:on:)`` about a session's last alert. Also `true` if there is no such alert.
    private func hasGotAlert(
        of session: ActivityFeed, _ push: Push, on device: Device
    ) throws(Failure) -> Bool {
        guard let alert = session.lastAlert, alert.alertExpires > now else { return true }
        return try hasGot(alert, of: session, push, on: device)
    }

    /// Whether a listener has got an alert of its session, or may have: with the state that brought it, a later
    /// one, or one of its own. States that are not remembered any more count as got.
    private func hasGot(
        _ alert: ActivityFeed.State, of session: ActivityFeed, _ push: Push, on device: Device
    ) throws(Failure) -> Bool {
        if device.activity?.hasBrought(alert) == true { return true }
        let names = try documents.userDevices(of: push, on: device)
        let id = push.job.notification.id
        for turn in session.recent where turn.number >= alert.number && turn.carrier != id {
            if try intake.isOpen(turn.carrier, forAnyOf: names) {
                if try intake.mayHaveArrived(turn.carrier, onAnyOf: device.ids) { return true }
            } else if device.activity?.dropped.contains(turn.carrier) != true {
                return true
            }
        }
        return session.recent.first.map { $0.number > alert.number } ?? true
    }

    /// ``ActivityFeed/merged(into:now:after:isMissed:fits:)`` for a listener's own feed.
    private func merged(
        _ own: ActivityFeed, of device: Device, into shared: ActivityFeed.Taken,
        of session: ActivityFeed?
    ) throws(Failure) -> ActivityFeed.Taken? {
        var isMissed = false
        // Skip the search for an expired alert: thousands of listeners may have been sent one.
        if let last = own.taken, last.state.aps["alert"] != nil, last.state.alertExpires > now {
            isMissed = try spool.isMissed(last.carrier, by: device.ids)
        }
        return own.merged(
            into: shared, now: now, after: session?.lastAlert, isMissed: isMissed,
            fits: { fits($0) })
    }

    /// Records that a push has brought a listener an alert of its other feed, or may have, so that no push of that
    /// feed brings it again.
    func record(
        _ alert: Push.ForeignAlert, on token: DeviceToken, of user: UserID
    ) throws(Failure) {
        try state.users[user].update { document in
            for index in document.devices.indices where document.devices[index].token == token {
                switch alert {
                case .own(let number): document.devices[index].activity?.dropAlerts(upTo: number)
                case .session(let number): document.devices[index].activity?.didBring(number)
                }
            }
        }
    }

    /// Records a later attempt to reach a session's listeners, once per job, so that the next state keeps its
    /// distance from this attempt too.
    private func recordAttempt(
        _ taken: ActivityFeed.Taken, of session: String, by job: Job
    ) throws(Failure) {
        guard !job.isAttemptRecorded else { return }
        job.isAttemptRecorded = true
        // A moment ahead was stored while the clock was wrong.
        guard now - taken.moment >= .seconds(1) || taken.moment > now else { return }
        try state.sessions[session].update { $0.session.recordAttempt(by: taken.carrier, at: now) }
    }

    /// Takes a session's state for the first time.
    ///
    /// - Returns: `nil` if another notification has replaced it.
    private func take(
        from session: String, by job: Job
    ) throws(Failure) -> ActivityFeed.Taken? {
        // Thousands of pushes may ask for a state that was replaced.
        guard !job.isReplaced else { return nil }
        // Under the lock, because the document counts a state a moment after the spool has its notification.
        let id = job.notification.id
        let taken = try state.sessions[session].update { $0.session.take(by: id, now: now) }
        job.isReplaced = taken == nil
        return taken
    }

    /// Whether a state fits into a push with any `timestamp`, with its alert's text cut if necessary.
    private func fits(
        _ aps: JSONObject, in limit: Int = PushType.liveActivity.payloadLimit
    ) -> Bool {
        payload(aps, Int64.max).cut(to: limit) != nil
    }

    private func fill(_ push: Push, _ taken: ActivityFeed.Taken?) -> Verdict? {
        guard let taken else { return .superseded(.newer) }
        load(taken, into: push)
        return nil
    }

    /// Loads a state for all of a push's notification.
    private func load(_ taken: ActivityFeed.Taken, into push: Push) {
        push.job.load(content(of: taken, like: push), expires: taken.state.expires)
    }

    private func content(of taken: ActivityFeed.Taken, like push: Push) -> PushContent {
        var content = push.job.notification.push
        let payload = payload(taken.state.aps, taken.seconds)
        content.payload = payload.cut(to: limit(push)) ?? payload
        content.priority = taken.state.priority
        return content
    }

    private func limit(_ push: Push) -> Int {
        if case .channel = push.aim { return PushType.broadcastLimit }
        return PushType.liveActivity.payloadLimit
    }

    private func payload(_ state: JSONObject, _ seconds: Int64) -> Payload {
        var aps: JSONObject = ["timestamp": .integer(seconds)]
        for member in state.members { aps[member.name] = member.value }
        return Payload(aps: aps)
    }
}

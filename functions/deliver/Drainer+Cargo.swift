import APNs
import Crypto
import Documents
import JSON
import Spool
import Store
import Turnstone
import Unix

extension Drainer {
    /// What a channel is to get now: an older state never follows a newer one.
    func loadBroadcast(_ push: Push, to channel: ChannelID) throws(Failure) -> Verdict? {
        let id = push.job.notification.id
        let taken = try state.channels[channel].update { document in
            document.feed?.take(by: id, now: now, turn: 0)
        }
        return fill(push, taken)
    }

    /// What a Live Activity is to show now.
    func loadActivity(
        _ push: inout Push, to device: Device, of user: UserID
    ) throws(Failure) -> Verdict? {
        if let session = push.job.notification.session {
            return try loadSession(session, &push, to: device)
        }
        let id = push.job.notification.id
        let session = try device.sessionID.flatMap { (name) throws(Failure) in
            try self.session(named: name)
        }
        // Nothing but its own end comes after the session's.
        if session?.hasEnded(for: device.joined) == true, device.activity?.known?.isEnd != true {
            return .superseded("newer")
        }
        let shared = session?.feed(for: device.joined)
        if let pause = device.activity?.pause(of: id, after: shared, now: now) {
            return .behind(for: pause)
        }
        let taken = try state.users[user].update { (document) throws(Failure) in
            try document.takeActivity(
                of: device.token, by: id, now: now, besides: shared, turn: session?.turn ?? 0,
                isPutOff: { (carrier) throws(Failure) in try spool.putOff(carrier) != nil },
                fits: fits)
        }
        return fill(push, taken)
    }

    /// What a listener of a session is to show now.
    private func loadSession(
        _ session: String, _ push: inout Push, to device: Device
    ) throws(Failure) -> Verdict? {
        let id = push.job.notification.id
        if let end = device.activity?.taken, end.state.isEnd, end.carrier == id {
            // It has left since, and may have got the end before.
            push.load(content(of: end, like: push), expires: end.state.expires)
            return nil
        }
        // It may have been registered for another one since.
        guard device.sessionID?.utf8.elementsEqual(session.utf8) == true else {
            return .superseded("unregistered")
        }
        guard let taken = try take(from: session, by: id) else {
            return .superseded("newer")
        }
        // It may have left and come back since: what was sent before it came is not for it.
        guard taken.state.number > device.joined else { return .superseded("unregistered") }
        let verdict = fill(push, taken)
        guard let own = device.activity else { return verdict }
        if let pause = own.pause(before: taken, now: now) { return .behind(for: pause) }
        var isPutOff = false
        // Only the next one has to look: thousands may have been sent an alert some day.
        if let last = own.taken, last.state.aps["alert"] != nil, taken.turn - last.turn <= 1 {
            isPutOff = try spool.putOff(last.carrier) != nil
        }
        let merged = own.merged(into: taken, now: now, isPutOff: isPutOff, fits: fits)
        guard let merged else { return .superseded("newer") }
        push.load(content(of: merged, like: push), expires: merged.state.expires)
        return nil
    }

    /// Whether a state can be sent, whatever its `timestamp`.
    private func fits(_ aps: JSONObject) -> Bool {
        JSON.text(payload(aps, Int64.max)).count <= PushType.liveActivity.payloadLimit
    }

    private func take(from session: String, by id: String) throws(Failure) -> ActivityFeed.Taken? {
        let known = try self.session(named: session)
        if let taken = known?.taken(by: id, now: now) { return taken }
        // Thousands of pushes may ask for a state that another one has replaced.
        guard known?.waits(for: id) == true else { return nil }
        return try state.sessions[session].update {
            $0.session.take(by: id, now: now)
        }
    }

    /// What was sent to a session as a whole: its document names thousands of listeners.
    private func session(named session: String) throws(Failure) -> SessionFeeds? {
        let (known, snapshot) = try state.sessions[session].read(unless: lastSession)
        lastSession = snapshot
        return known?.session
    }

    /// The user's badge as it is now.
    func loadBadge(_ push: Push, of user: UserID) throws(Failure) -> Verdict? {
        if !push.job.isBadgeTaken {
            // Under the lock: whoever changes it accepts the push first. From now on another change needs another push.
            try state.users[user].update { document in
                if document.badgePush?.id == push.job.notification.id { document.badgePush = nil }
            }
            push.job.isBadgeTaken = true
        }
        let badge = try document(of: user).badge
        fill(push, ["aps": ["badge": .integer(badge)]])
        return nil
    }

    private func fill(_ push: Push, _ taken: ActivityFeed.Taken?) -> Verdict? {
        guard let taken else { return .superseded("newer") }
        push.job.load(content(of: taken, like: push), expires: taken.state.expires)
        return nil
    }

    private func content(of taken: ActivityFeed.Taken, like push: Push) -> PushContent {
        var content = push.job.notification.push
        content.payload = payload(taken.state.aps, taken.seconds)
        content.priority = taken.state.priority
        return content
    }

    private func payload(_ state: JSONObject, _ seconds: Int64) -> JSONValue {
        var aps: JSONObject = ["timestamp": .integer(seconds)]
        for member in state.members { aps[member.name] = member.value }
        return ["aps": .object(aps)]
    }

    func fill(_ push: Push, _ payload: JSONValue) {
        let notification = push.job.notification
        var content = notification.push
        content.payload = payload
        push.job.load(content, expires: notification.expires)
    }
}

import Crypto
import Spool
import Store
import Turnstone
import Unix

extension Drainer {
    /// What a channel is to get now: an older state never follows a newer one.
    func loadBroadcast(_ push: Push, to channel: ChannelID) throws(Failure) -> Verdict? {
        let id = push.job.notification.id
        let taken = try state.channels.update(DocumentName(channel)) { document in
            document.feed?.take(by: id, now: now)
        }
        return fill(push, taken)
    }

    /// What a Live Activity is to show now.
    func loadActivity(
        _ push: Push, to token: DeviceToken, of user: UserID
    ) throws(Failure) -> Verdict? {
        let id = push.job.notification.id
        let taken = try state.users.update(DocumentName(user)) { document in
            document.takeActivity(of: token, by: id, now: now)
        }
        return fill(push, taken)
    }

    /// The user's badge as it is now.
    func loadBadge(_ push: Push, of user: UserID) throws(Failure) -> Verdict? {
        if !push.job.isBadgeTaken {
            // Under the lock: whoever changes it accepts the push first. From now on another change needs another push.
            try state.users.update(DocumentName(user)) { document in
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
        var aps: JSONObject = ["timestamp": .integer(taken.seconds)]
        for member in taken.state.aps.members { aps[member.name] = member.value }
        fill(
            push, ["aps": .object(aps)], priority: taken.state.priority,
            expires: taken.state.expires)
        return nil
    }

    func fill(
        _ push: Push, _ payload: JSONValue, priority: Int? = nil, expires: Timestamp? = nil
    ) {
        let notification = push.job.notification
        var content = notification.push
        content.payload = payload
        content.priority = priority ?? content.priority
        push.job.load(content, expires: expires ?? notification.expires)
    }
}

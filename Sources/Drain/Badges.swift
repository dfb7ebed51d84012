import Documents
import Spool
import Store
import Turnstone

/// The badges of users, which messages change and pushes show.
struct Badges: RunPart {
    let run: Run
    let documents: LastDocuments

    /// Loads a push that only shows its user's badge.
    func load(_ push: Push, of user: UserID) throws(Failure) {
        let job = push.job
        if !job.isBadgeTaken {
            // Under the lock, because a program that changes the badge accepts the push for it first. A later
            // change needs a push of its own.
            try state.users[user].update { document in
                if document.badgePush?.id == job.notification.id { document.badgePush = nil }
            }
            job.isBadgeTaken = true
        }
        let badge = try documents.user(user).badge
        var content = job.notification.push
        content.payload = Payload(aps: ["badge": .integer(badge)])
        job.load(content, expires: job.notification.expires)
    }

    /// Applies the messages' changes to a user's badge, each message once, and puts the badge into the push.
    func count(
        _ messages: [Notification], in push: Push, of user: UserID
    ) throws(Failure) {
        let changes = messages.filter { $0.badge != nil }
        guard !changes.isEmpty else { return }
        let badge = try state.users[user].update { document in
            // The user may just have got another id: nobody has this one.
            guard !document.devices.isEmpty else { return document.badge }
            for message in changes {
                if let change = message.badge {
                    document.changeBadge(change, messageID: message.id)
                }
            }
            return document.badge
        }
        push.setBadge(badge)
    }
}

import Documents
import Spool
import Store
import Turnstone

/// The badges of users, which messages change and pushes show.
struct Badges: RunPart {
    let run: Run
    let documents: LastDocuments

    /// Loads a push that only shows its user's badge.
    ///
    /// - Returns: a verdict if the user has just got another id, or is gone.
    func load(_ push: Push, of user: UserID) throws(Failure) -> Verdict? {
        let job = push.job
        if !job.isBadgeTaken {
            // Under the lock, because a program that changes the badge accepts the push for it first. A later
            // change needs a push of its own.
            try state.users[user].update { document in
                if document.badgePush?.id == job.notification.id { document.badgePush = nil }
            }
            job.isBadgeTaken = true
        }
        let document = try documents.user(user)
        guard !document.devices.isEmpty else { return .soon }
        let badge = document.badge
        var content = job.notification.push
        content.payload = Payload(aps: ["badge": .integer(badge)])
        job.load(content, expires: job.notification.expires)
        return nil
    }

    /// Applies the messages' changes to a user's badge, each message once, and puts the badge into the push.
    ///
    /// - Returns: a verdict if the user has just got another id, or is gone.
    func count(
        _ messages: [Notification], in push: Push, of user: UserID
    ) throws(Failure) -> Verdict? {
        let changes = messages.filter { $0.badge != nil }
        guard !changes.isEmpty else { return nil }
        let badge = try state.users[user].update { (document) throws(Failure) -> Int64? in
            guard !document.devices.isEmpty else { return nil }
            for message in changes {
                if let change = message.badge {
                    let isMovable = message.scheduled != nil || message.delayed != nil
                    document.changeBadge(
                        change, messageID: message.id, order: isMovable ? nil : message.order)
                }
            }
            if document.badgeMessages.areMany {
                let open = try run.spools.open(
                    among: document.badgeMessages.ids, of: document.ids(of: user))
                document.forgetBadgeMessages(allBut: open)
            }
            return document.badge
        }
        guard let badge else { return .soon }
        push.setBadge(badge)
        return nil
    }
}

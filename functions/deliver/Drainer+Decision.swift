import Spool
import Store
import Turnstone
import Unix

// Accepting a notification is a promise to decide, and sending it is the decision: whom it reaches, what it says and
// whether it is still wanted follow from the documents as they are at this moment.

extension Drainer {
    /// Decides what becomes of a push that is about to be sent.
    ///
    /// - Returns: its verdict where it is not sent, or not now.
    func decide(_ push: inout Push) -> Verdict? {
        if intake.isCalledOff(push.delivery, in: push.job.file) { return .cancelled }
        do throws(Failure) {
            if let verdict = try decideByDocuments(&push) { return verdict }
        } catch {
            log.failure(error)
            guard push.job.notification.expires > now else { return .expired }
            return .later(error, attempt: push.delivery.attempts + 1)
        }
        return push.job.notification.expires > now ? nil : .expired
    }

    private func decideByDocuments(_ push: inout Push) throws(Failure) -> Verdict? {
        let notification = push.job.notification
        if case .channel(let channel) = push.delivery.aim {
            return notification.cargo == .activity ? try loadBroadcast(push, to: channel) : nil
        }
        guard let user = push.job.file.user(of: push.delivery) else { return overtaken(push) }
        if notification.cargo == .messages { return try takeOverHeld(of: user) }
        if isAsAccepted(push, of: user) { return overtaken(push) }
        let token = push.delivery.token

        let (known, snapshot) = try state.users.read(DocumentName(user), unless: lastUser)
        lastUser = snapshot
        let document = known ?? User()
        guard let device = try aim(&push, at: document) else { return .superseded("unregistered") }
        if device.token != token, try push.job.file.isAlso(for: device.token) {
            // Two devices have become one.
            return .superseded("delivered")
        }
        if let told = notification.turns {
            return try loadNotice(told, &push, to: device, of: user)
        }
        switch notification.cargo {
        case .activity: return try loadActivity(push, to: device.token, of: user)
        case .badge: return try loadBadge(push, of: user)
        case .turnBadge: return try loadTurnBadge(&push, to: device, of: user)
        case .release: return try loadRelease(&push, to: device, of: user, document)
        case .messages, nil: break
        }
        if let verdict = try unwanted(push, for: user, device, document) { return verdict }
        if let verdict = overtaken(push) { return verdict }
        guard notification.expires > now else { return .expired }
        try countBadges(of: [notification], &push, of: user)
        return nil
    }

    /// Whether the user's document is the one that the delivery was decided by.
    private func isAsAccepted(_ push: Push, of user: UserID) -> Bool {
        guard let stamp = push.delivery.stamp else { return false }
        return state.users.stamp(of: DocumentName(user)) == stamp
    }

    /// Lets the push go to the token that the device has now.
    ///
    /// - Returns: `nil` where the device is not the user's any more, or takes no such pushes.
    private func aim(_ push: inout Push, at document: User) throws(Failure) -> Device? {
        guard let token = push.delivery.token,
            let device = document.device(token, id: push.delivery.deviceID),
            device.takesMessages || push.job.notification.push.type == "liveactivity"
        else { return nil }
        push.redirect(to: device)
        return device
    }

    /// What the user's preferences say of a message: they may have changed, and quiet hours may have begun.
    private func unwanted(
        _ push: Push, for user: UserID, _ device: Device, _ document: User
    ) throws(Failure) -> Verdict? {
        let notification = push.job.notification
        guard notification.isMessage, notification.expires > now else { return nil }
        let passage = document.preferences.passage(
            notification.kind, isExempt: notification.push.isExempt, at: now, WallClock.minute)
        switch passage {
        case .free:
            return try isHeldAlready(notification, for: user, device) ? .held : nil
        case .closed: return .superseded("unwanted")
        case .held(let moment):
            // What may have arrived has to be asked for again under its own id.
            guard !push.job.file.isInDoubt(push.delivery) else {
                return .waiting(min(moment, notification.expires) - now)
            }
            return try hold(push, for: user, device, until: moment)
        }
    }

    /// Whether the device has taken a newer state of the same thing, or may just be taking one.
    private func overtaken(_ push: Push) -> Verdict? {
        guard let series = push.job.notification.series, let device = push.device else {
            return nil
        }
        if let newest = push.job.group?.newest(on: device), newest > series.order {
            return .superseded("newer")
        }
        return flights.isNewerUnderWay(than: series, on: device) ? .soon : nil
    }
}

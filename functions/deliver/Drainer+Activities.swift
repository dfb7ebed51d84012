import Spool
import Store
import Turnstone

extension Drainer {
    /// The verdict of a push that need not be sent any more, or cannot be now.
    func verdictBeforehand(_ push: Push) -> Verdict? {
        do throws(Failure) {
            if push.job.notification.isCarrier, try !load(push) { return .superseded }
        } catch {
            log.failure(error)
            return .later(error)
        }
        return push.job.notification.expires > now ? nil : .expired
    }

    /// Takes what the device's Live Activity shows now.
    ///
    /// - Returns: whether there is anything that another carrier does not have.
    private func load(_ push: Push) throws(Failure) -> Bool {
        let file = push.job.file
        guard let user = file.user(of: push.delivery) else { return false }
        let taken = try state.users.update(DocumentName(user)) { document in
            document.takeActivity(of: push.delivery.token, by: push.job.notification.id, now: now)
        }
        guard let taken else { return false }
        var aps: JSONObject = ["timestamp": .integer(taken.seconds)]
        for member in taken.state.aps.members { aps[member.name] = member.value }
        var content = push.job.notification.push
        content.priority = taken.state.priority
        content.payload = ["aps": .object(aps)]
        file.load(content, expires: taken.state.expires)
        return true
    }
}

import Turnstone
import Unix

/// The queues of all push services. Programs that accept notifications, or ask about them, use this. A drainer
/// has one ``Spool`` of its own.
package struct Spools {
    /// The state folder.
    let state: String
    package let folder: String

    /// - Parameter state: the state folder.
    package init(state: String) {
        self.state = state
        folder = "\(state)/spool"
    }

    package func spool(of service: PushService) -> Spool { Spool(state: state, service) }

    /// The queues that were ever used; always that of APNs.
    package func all() throws(Failure) -> [Spool] {
        var spools = [spool(of: .apns)]
        for service in [PushService.fcm, .web] {
            let spool = spool(of: service)
            if try systemCalls(Files.exists(spool.folder)) { spools.append(spool) }
        }
        return spools
    }

    /// The first result that is not `nil`.
    private func first<Result>(
        _ find: (Spool) throws(Failure) -> Result?
    ) throws(Failure) -> Result? {
        for spool in try all() {
            if let found = try find(spool) { return found }
        }
        return nil
    }

    /// The same for a notification's id. If no queue has it, its acceptance may have been interrupted.
    private func first<Result>(
        _ id: String, _ find: (Spool) throws(Failure) -> Result?
    ) throws(Failure) -> Result? {
        if let found = try first(find) { return found }
        guard try completeJoint(id) else { return nil }
        return try first(find)
    }

    /// The notification of this id, in whatever folder it is.
    package func find(_ id: String) throws(Failure) -> Notification? {
        try first(id) { (spool) throws(Failure) in try spool.find(id) }
    }

    /// Whether a notification is in a queue.
    package func contains(_ id: String) throws(Failure) -> Bool {
        try first(id) { (spool) throws(Failure) in try spool.contains(id) ? true : nil } ?? false
    }

    /// The queues that have a notification.
    package func spools(with id: String) throws(Failure) -> [Spool] {
        _ = try completeJoint(id)
        var found: [Spool] = []
        for spool in try all() where try spool.contains(id) { found.append(spool) }
        return found
    }

    /// The push services, other than one, whose queues have a part of a notification.
    package func services(with id: String, besides service: PushService) throws(Failure)
        -> [PushService]
    {
        try spools(with: id).map { $0.service }.filter { $0 != service }
    }

    /// Whether a notification waits for another attempt to reach a device, and cannot have reached it yet.
    ///
    /// - Parameter ids: the ids of the device in receipts.
    package func isMissed(_ id: String, by ids: [String]) throws(Failure) -> Bool {
        try first { (spool) throws(Failure) in try spool.isMissed(id, by: ids) ? true : nil }
            ?? false
    }

    /// Whether a drainer would find something to do: for programs that might start one.
    package func hasWork(at now: Timestamp) throws(Failure) -> Bool {
        if try !joints().isEmpty { return true }
        return try first { (spool) throws(Failure) in try spool.hasWork(at: now) ? true : nil }
            ?? false
    }

    /// Whether the drainer of a push service would find something to do, once interrupted acceptances are
    /// complete.
    package func hasWork(
        for service: PushService, at now: Timestamp, report: (Failure) -> Void
    ) throws(Failure) -> Bool {
        completeJoints(report: report)
        return try spool(of: service).hasWork(at: now)
    }

    /// Since when the oldest notification that could be sent now has waited: ``Spool/oldestDue(at:)``.
    package func oldestDue(at now: Timestamp) throws(Failure) -> Timestamp? {
        var oldest: Timestamp?
        for id in try joints() {
            if let since = try changed(joint(id), at: now) { oldest = min(oldest ?? since, since) }
        }
        for spool in try all() {
            if let due = try spool.oldestDue(at: now) { oldest = min(oldest ?? due, due) }
        }
        return oldest
    }

    /// Makes everything that is held for a user due, so that the drainers look at it again as soon as they can.
    ///
    /// - Returns: whether anything is held.
    package func lookAgain(at user: UserID, now: Timestamp) throws(Failure) -> Bool {
        var isAnything = false
        for spool in try all() {
            if try spool.lookAgain(at: user, now: now) { isAnything = true }
        }
        return isAnything
    }

    /// A notification of which a part waits for another attempt, with the devices of all parts that have no
    /// outcome yet; `nil` for any other.
    package func putOff(_ id: String) throws(Failure) -> OpenNotification? {
        let found = try first { (spool) throws(Failure) in try spool.putOff(id) }
        guard var found else { return nil }
        for spool in try all() {
            guard let path = try spool.path(of: id),
                let part = try spool.openNotification(at: path, Progress())
            else { continue }
            found.devices += part.devices.filter { !found.devices.contains($0) }
        }
        return found
    }

    /// Whether a notification waits for its first attempt, or for another one.
    package func hasReadyOrPutOff() throws(Failure) -> Bool {
        if try !joints().isEmpty { return true }
        return try first { (spool) throws(Failure) in
            try spool.hasReadyOrPutOff() ? true : nil
        } ?? false
    }

    /// Whether any message is held.
    package func holdsAnything() throws(Failure) -> Bool {
        try first { (spool) throws(Failure) in try spool.holdsAnything() ? true : nil } ?? false
    }

    /// Whether a held message is in a release, so that it may have been sent.
    package func isBeingReleased(_ message: String) throws(Failure) -> Bool {
        try first { (spool) throws(Failure) in
            try spool.isBeingReleased(message) ? true : nil
        } ?? false
    }

    /// Removes marks of series that a crash or a race of two programs has left.
    package func sweepSeries(at now: Timestamp) throws(Failure) {
        for spool in try all() { try spool.sweepSeries(at: now) }
    }
}

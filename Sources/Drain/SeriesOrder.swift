import Crypto
import Spool
import Store
import Turnstone

/// Keeps the order within a series: a device gets the newest of its notifications. An older one never follows
/// the newest, and waits while the newest may still come.
final class SeriesOrder: RunPart {
    let run: Run
    private let documents: LastDocuments
    private let queue: PushQueue
    /// By key, the groups of the series that have a notification in hand.
    private var groups: [String: SeriesGroup<PushQueue.Entry>] = [:]
    /// By notification of a series, the number of its pushes that are under way.
    private var underWay: [String: Int] = [:]
    /// By device, the series that the release under way to it brings.
    private var bringing: [String: [Series]] = [:]

    init(_ run: Run, _ documents: LastDocuments, _ queue: PushQueue) {
        self.run = run
        self.documents = documents
        self.queue = queue
    }

    // MARK: Notifications in hand

    /// Reads from the receipts which devices newer notifications of a job's series have reached, and from the
    /// spool which devices they are still for. Later events are recorded as they happen.
    func join(_ job: Job) throws(Failure) {
        guard let series = job.series else { return }
        for key in series.keys { try join(job, series, key) }
    }

    private func join(_ job: Job, _ series: Series, _ key: String) throws(Failure) {
        let group = groups[key] ?? SeriesGroup()
        groups[key] = group
        job.groups.append(group)
        let isLarge = job.lane.isStreamed
        // Only the receipts name the devices that it reached in earlier passes.
        group.join(
            job.notification.id, isLarge: isLarge, isComplete: !isLarge && !job.file.isReached)
        for mark in try spool.marks(of: key, concerning: series.scope)
        where mark.order > series.order && group.mustRead(mark.id) {
            try intake.log.write()
            for device in try intake.devicesReached(by: mark) {
                group.recordReached(mark.order, on: device)
            }
            guard !group.inHand.contains(mark.id), let open = try intake.open(mark.id, at: now)
            else {
                continue
            }
            group.add(
                open.notification, devices: open.devices, waiting: (open.until, open.isScheduled))
        }
        guard group.inHand.count > 1 else { return }
        for id in group.unread {
            if let open = try intake.open(id, at: now) {
                group.add(open.notification, devices: open.devices)
            }
        }
    }

    /// Adds the devices of a small job that has joined.
    func add(_ deliveries: [Delivery], of job: Job) {
        guard !job.groups.isEmpty, !job.lane.isStreamed else { return }
        let devices = deliveries.flatMap { deviceIDs(of: $0, in: job) }
        for group in job.groups { group.add(job.notification, devices: devices) }
    }

    /// Forgets a job that is no longer in hand.
    ///
    /// - Parameter moment: when its notification is tried again; `nil` if it is over.
    func leave(_ job: Job, putOffUntil moment: Timestamp? = nil) {
        guard let series = job.series else { return }
        for (key, group) in zip(series.keys, job.groups) {
            queue.putBack(group.leave(job.notification.id, putOffUntil: moment))
            if group.inHand.isEmpty { groups[key] = nil }
        }
        job.groups = []
    }

    /// Puts all pushes that wait for newer ones back into the queue, and forgets all series.
    func removeAll() {
        for group in groups.values { queue.putBack(group.releaseAll()) }
        groups = [:]
    }

    // MARK: Pushes

    /// Makes a push wait in hand until a newer one to the same device has its outcome.
    func wait(_ push: Push, behind key: String) {
        if let device = push.device { groups[key]?.wait((push.job, push.original), for: device) }
    }

    /// Puts the pushes that waited for this one's outcome back into the queue.
    func settle(_ push: Push) {
        guard !push.job.groups.isEmpty else { return }
        for device in deviceIDs(of: push.original, in: push.job) {
            for group in push.job.groups {
                queue.putBack(group.settle(push.job.notification.id, on: device))
            }
        }
    }

    /// The ids of the devices that a delivery may go to. A file that has just been damaged names no other than
    /// the first.
    private func deviceIDs(of delivery: Delivery, in job: Job) -> [String] {
        do throws(Failure) { return try job.file.deviceIDs(of: delivery) } catch {
            log.failure(error)
            return [delivery.device].compactMap { $0 }
        }
    }

    /// Records that a device has accepted a push, or may have.
    func recordReached(_ push: Push) {
        for series in push.brought { recordReached(series, by: push) }
        guard let series = push.job.series, let device = push.device else { return }
        // A bulk notification that is alone in its group overtakes none. If another one comes, the receipts
        // name its devices.
        for group in push.job.groups where !push.job.lane.isStreamed || group.inHand.count > 1 {
            group.recordReached(series.order, on: device)
        }
    }

    /// Records that a device has accepted a message of a release, or may have.
    func recordReached(_ series: Series, by push: Push) {
        guard let device = push.device else { return }
        for key in series.keys { groups[key]?.recordReached(series.order, on: device) }
    }

    /// Returns a verdict if the device has accepted a newer state of the same thing, or may soon accept one.
    func overtaken(_ push: Push) throws(Failure) -> Verdict? {
        guard let series = push.job.series, let device = push.device else { return nil }
        let ids = push.receiverIDs
        if let verdict = try overtaken(push, series, on: ids, device) { return verdict }
        // Other users of the phone may know it by other ids. To look for them takes longer, so that is done
        // only if there is something newer.
        guard let token = push.delivery.token,
            isBringing(newerThan: series)
                || push.job.groups.contains(where: { $0.hasNewer(than: series.order) })
        else { return nil }
        let others = try documents.otherIDs(of: token, than: ids)
        return others.isEmpty ? nil : try overtaken(push, series, on: others, device)
    }

    /// - Parameter ids: some of the ids under which the receiving device appears in receipts.
    private func overtaken(
        _ push: Push, _ series: Series, on ids: [String], _ device: String
    ) throws(Failure) -> Verdict? {
        for group in push.job.groups {
            for id in ids {
                if let newest = group.newest(on: id), newest > series.order {
                    return .superseded(.newer)
                }
            }
        }
        if ids.contains(where: { isBringing(newerThan: series, to: $0) }) { return .soon }
        for (key, group) in zip(series.keys, push.job.groups) {
            for (id, newer) in ids.flatMap({ id in
                group.ahead(of: series.order, on: id).map { (id, $0) }
            }) {
                let isLater = !newer.isInHand && newer.isScheduled && newer.until > now
                if isLater { continue }
                if try isHeldBack(newer.notification, from: push) { continue }
                guard push.job.notification.expires > now else { return .expired }
                // The number that waits in memory is limited.
                if newer.isInHand, id == device, group.waitingCount < 10_000 {
                    return .behind(key: key)
                }
                let moment = max(now, min(newer.until, push.job.notification.expires))
                return .behind(for: moment + .seconds(1) - now)
            }
        }
        return nil
    }

    /// Whether a newer notification cannot arrive now: its user, who may be another one than the push's, does
    /// not want it yet, and no earlier push of it may have arrived.
    private func isHeldBack(_ notification: Notification, from push: Push) throws(Failure) -> Bool {
        let known =
            if let other = notification.user {
                try documents.present(other)
            } else {
                try documents.user(of: push)
            }
        guard let user = known else { return false }
        guard try documents.passage(of: notification, by: documents.user(user)) != .free,
            underWay[notification.id] == nil
        else { return false }
        var ids = push.receiverIDs
        if let token = push.delivery.token { ids += try documents.otherIDs(of: token, than: ids) }
        return try !intake.mayHaveArrived(notification.id, onAnyOf: ids)
    }

    // MARK: Releases

    /// Whether a release is under way to a device that has one of these ids.
    func isBringing(toAnyOf ids: [String]) -> Bool { ids.contains { bringing[$0] != nil } }

    private func isBringing(newerThan series: Series, to device: String) -> Bool {
        bringing[device]?.contains { $0.replaces(series) } == true
    }

    private func isBringing(newerThan series: Series) -> Bool {
        bringing.values.contains { $0.contains { $0.replaces(series) } }
    }

    /// Records that a push is under way, and what it brings if it is a release.
    func didHandOut(_ push: Push) {
        if push.job.series != nil { underWay[push.job.notification.id, default: 0] += 1 }
        guard push.job.notification.cargo == .release, let device = push.receiver else { return }
        bringing[device] = push.brought
    }

    /// Records that a push is no longer under way.
    func didReturn(_ push: Push) {
        let id = push.job.notification.id
        if let count = underWay[id] { underWay[id] = count > 1 ? count - 1 : nil }
        guard push.job.notification.cargo == .release, let device = push.receiver else { return }
        bringing[device] = nil
    }

    /// The effect of a newer notification on a held message of its series.
    enum Newer {
        /// The device has accepted it.
        case taken
        /// It may soon be sent to the device.
        case expected(in: Interval)
    }

    /// The state, by the receipts and the spool, of notifications of a series that are newer than a held
    /// message; `nil` if the device has none and expects none.
    ///
    /// - Parameter ids: all ids of the device: ``LastDocuments/phoneIDs(of:)``.
    func newer(than series: Series, onAnyOf ids: [String]) throws(Failure) -> Newer? {
        let marks = try spool.marks(of: series).filter { $0.order > series.order }
        var pause: Interval?
        if ids.contains(where: { isBringing(newerThan: series, to: $0) }) { pause = .seconds(1) }
        for mark in marks {
            try intake.log.write()
            if try intake.devicesReached(by: mark).contains(where: ids.contains) { return .taken }
            guard let open = try intake.open(mark.id, at: now),
                open.devices.contains(where: ids.contains),
                !open.isScheduled || open.until <= now
            else { continue }
            pause = max(open.until, now) + .seconds(1) - now
        }
        return pause.map { .expected(in: $0) }
    }
}

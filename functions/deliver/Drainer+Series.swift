import Spool
import Turnstone

/// The devices that notifications of one series have reached, while at least one of them is in hand.
final class SeriesGroup {
    /// How many notifications of the series are in hand.
    fileprivate var jobs = 0
    /// The notifications whose devices are in ``reached``, as far as they have come.
    fileprivate var known: Set<String> = []
    /// By device, the newest of the notifications that it has taken.
    private var reached: [UInt64: Series.Order] = [:]

    func note(_ order: Series.Order, on device: String) {
        let key = key(device)
        reached[key] = max(reached[key] ?? order, order)
    }

    func newest(on device: String) -> Series.Order? {
        reached.isEmpty ? nil : reached[key(device)]
    }

    /// The first 16 of a device id's hex digits.
    private func key(_ device: String) -> UInt64 {
        UInt64(String(decoding: device.utf8.prefix(16), as: UTF8.self), radix: 16) ?? 0
    }
}

/// The pushes under way that belong to a series.
struct Flights {
    private struct Way: Hashable {
        let series: String
        let device: String
    }

    private var orders: [Way: [Series.Order]] = [:]

    mutating func begin(_ push: Push) {
        guard let device = push.device else { return }
        for series in push.series {
            orders[Way(series: series.key, device: device), default: []].append(series.order)
        }
    }

    mutating func end(_ push: Push) {
        guard let device = push.device else { return }
        for series in push.series {
            let way = Way(series: series.key, device: device)
            guard var known = orders[way], let place = known.firstIndex(of: series.order) else {
                continue
            }
            known.remove(at: place)
            orders[way] = known.isEmpty ? nil : known
        }
    }

    /// Whether a device is about to get something newer of a series.
    func isNewerUnderWay(than series: Series, on device: String) -> Bool {
        guard !orders.isEmpty else { return false }
        return orders[Way(series: series.key, device: device)]?.contains { $0 > series.order }
            ?? false
    }
}

extension Drainer {
    /// Reads from the receipts which devices newer notifications of a job's series have reached. Those that are
    /// reached from now on, ``noteReached(_:)`` adds.
    func join(_ job: Job) throws(Failure) {
        guard let series = job.notification.series else { return }
        let group = groups[series.key] ?? SeriesGroup()
        group.jobs += 1
        groups[series.key] = group
        job.group = group
        for mark in try spool.marks(of: series)
        where mark.series.order > series.order && group.known.insert(mark.id).inserted {
            try intake.log.write()
            for device in try intake.devicesReached(by: mark) {
                group.note(mark.series.order, on: device)
            }
        }
        // From now on its devices are kept: see noteReached(_:).
        if job.lane != .bulk { group.known.insert(job.notification.id) }
    }

    /// Whether the receipts say that a device has taken something newer of a series.
    func isOvertaken(_ series: Series, on device: String) throws(Failure) -> Bool {
        for mark in try spool.marks(of: series) where mark.series.order > series.order {
            try intake.log.write()
            if try intake.devicesReached(by: mark).contains(device) { return true }
        }
        return false
    }

    /// To be called when a job is out of hand.
    func leave(_ job: Job) {
        if let user = job.notification.user, telling[user] == job.notification.id {
            telling[user] = nil
        }
        guard let series = job.notification.series, let group = job.group else { return }
        job.group = nil
        group.jobs -= 1
        if group.jobs == 0 { groups[series.key] = nil }
        // A bulk notification that is alone keeps no devices: they are read again when another one comes.
        if group.jobs == 1 { group.known = [] }
    }

    /// Records that a device has taken a push.
    func noteReached(_ push: Push) {
        for series in push.brought {
            if let device = push.device { groups[series.key]?.note(series.order, on: device) }
        }
        // A bulk notification that is alone overtakes none: its devices are in the receipts if another one comes.
        guard let group = push.job.group, let series = push.job.notification.series,
            let device = push.device, push.job.lane != .bulk || group.jobs > 1
        else { return }
        group.note(series.order, on: device)
    }
}

import DequeModule
import Spool
import Turnstone

/// The deliveries of all jobs in the order in which they are tried: lane by lane. In the lanes of small
/// notifications, devices that are known to work come first, and recipients take turns.
final class PushQueue {
    typealias Entry = (job: Job, delivery: Delivery)

    private var urgent = [FairLine(), FairLine()]
    private var normal = [FairLine(), FairLine()]
    private var bulk: [Job] = []
    private var nextBulk = 0
    /// Deliveries of bulk jobs that came back.
    private var again = Deque<Entry>()
    private var throttled: [Job] = []
    private var nextThrottled = 0
    /// Whether a push of a throttled job may leave now.
    var mayLeave: (Job) -> Bool = { _ in true }
    /// The number of jobs that were added.
    private var ranks = 0
    /// Jobs whose files have no more deliveries, since the last ``takeExhausted()``.
    private var exhausted: [Job] = []

    /// The number of waiting deliveries of small notifications.
    private(set) var smallCount = 0
    /// How many of them came from the backlog.
    private(set) var backlogCount = 0

    /// How many pushes of small notifications the provider has, for each recipient and for all.
    private var underWay: [Recipient: Int] = [:]
    private var underWayCount = 0

    /// Once this many pushes of small notifications are under way, each recipient has a share of them. So one
    /// whose devices answer late, or never, leaves room on the connection to the others.
    private static let maximumUnshared = 256
    private static let share = 64

    /// Once a recipient has this many deliveries here, further ones go to the backlog.
    private static let maximumPerRecipient = 100

    /// Whether all recipients of a small notification have enough deliveries here already.
    func isCrowded(_ file: SpoolFile) throws(Failure) -> Bool {
        guard smallCount >= Self.maximumPerRecipient else { return false }
        for recipient in try file.recipients() {
            let count = (urgent + normal).reduce(0) { $0 + $1.count(of: recipient) }
            if count < Self.maximumPerRecipient { return false }
        }
        return true
    }

    var bulkCount: Int { bulk.count }

    /// The most bulk jobs that share the connection.
    static let mostBulk = 4

    var streamedCount: Int { bulk.count + throttled.count }

    /// The most bulk and throttled jobs in hand. Each holds a file open.
    static let mostStreamed = 200

    var isEmpty: Bool { isWithoutOthers && throttled.isEmpty }

    /// Whether it has no deliveries but those of throttled jobs.
    var isWithoutOthers: Bool { smallCount == 0 && bulk.isEmpty && again.count == 0 }

    /// Adds a job.
    ///
    /// - Returns: the deliveries of a small notification; none for a bulk job.
    /// - Throws: if a small notification's file is damaged. None of its deliveries is in the queue then.
    func append(_ job: Job) throws(Failure) -> [Delivery] {
        job.rank = ranks
        ranks += 1
        switch job.lane {
        case .bulk:
            bulk.append(job)
            return []
        case .throttled:
            throttled.append(job)
            return []
        case .urgent, .normal, .backlog: break
        }
        var deliveries: [Delivery] = []
        while let delivery = try job.file.next() { deliveries.append(delivery) }
        job.open = deliveries.count
        for delivery in deliveries { append((job, delivery)) }
        exhausted.append(job)
        return deliveries
    }

    private func append(_ entry: Entry) {
        switch entry.job.lane {
        case .bulk: return again.append(entry)
        case .throttled:
            entry.job.again.append(entry.delivery)
            if !throttled.contains(where: { $0 === entry.job }) { throttled.append(entry.job) }
            return
        case .urgent, .normal, .backlog: break
        }
        let isFromBacklog = entry.job.lane == .backlog
        smallCount += 1
        if isFromBacklog { backlogCount += 1 }
        if entry.job.lane == .urgent {
            urgent[place(of: entry, in: urgent)].add(entry)
        } else {
            normal[isFromBacklog ? 1 : place(of: entry, in: normal)].add(entry)
        }
    }

    /// Which of two lines a delivery goes to: the first one if its device is known to work, unless an older
    /// notification to this device waits in the second one. An unproven one that comes back goes to the first line if
    /// a younger one waits there.
    private func place(of entry: Entry, in lines: [FairLine]) -> Int {
        guard entry.delivery.isProven else { return lines[0].hasYounger(than: entry) ? 0 : 1 }
        return lines[1].hasOlder(than: entry) ? 1 : 0
    }

    /// Takes back a delivery that was not tried. One of a small notification gets its place back.
    func putBack(_ entry: Entry) { append(entry) }

    func putBack(_ entries: [Entry]) {
        for entry in entries { append(entry) }
    }

    /// - Throws: if a job's file is damaged. The other jobs can go on.
    func popFirst() throws(Failure) -> Entry? {
        if let entry = popSmall() {
            smallCount -= 1
            if entry.job.lane == .backlog { backlogCount -= 1 }
            return entry
        }
        if let entry = try popThrottled() { return entry }
        if let entry = again.popFirst() { return entry }
        while !bulk.isEmpty {
            nextBulk = (nextBulk + 1) % bulk.count
            let job = bulk[nextBulk]
            do throws(Failure) {
                if let delivery = try job.file.next() {
                    job.open += 1
                    return (job, delivery)
                }
            } catch {
                job.damage = error
                drop()
                throw error
            }
            drop()
        }
        return nil
    }

    /// The next delivery of a job whose throttle is open; the jobs take turns.
    private func popThrottled() throws(Failure) -> Entry? {
        var rest = throttled.count
        while rest > 0 {
            rest -= 1
            nextThrottled = (nextThrottled + 1) % throttled.count
            let job = throttled[nextThrottled]
            guard mayLeave(job) else { continue }
            if let delivery = job.again.popFirst() { return (job, delivery) }
            do throws(Failure) {
                if !job.isCutShort, let delivery = try job.file.next() {
                    job.open += 1
                    return (job, delivery)
                }
            } catch {
                job.damage = error
                exhausted.append(throttled.remove(at: nextThrottled))
                throw error
            }
            exhausted.append(throttled.remove(at: nextThrottled))
        }
        return nil
    }

    private func popSmall() -> Entry? {
        guard smallCount > 0 else { return nil }
        let mayHave = { (recipient: Recipient) -> Bool in
            self.underWayCount < Self.maximumUnshared
                || self.underWay[recipient, default: 0] < Self.share
        }
        for place in urgent.indices {
            if let entry = urgent[place].popFirst(where: mayHave) { return entry }
        }
        for place in normal.indices {
            if let entry = normal[place].popFirst(where: mayHave) { return entry }
        }
        return nil
    }

    /// Records that the provider has a push.
    func didHandOut(_ push: Push) {
        guard !push.job.lane.isStreamed else { return }
        underWay[push.job.file.recipient(of: push.original), default: 0] += 1
        underWayCount += 1
    }

    /// Records that the provider no longer has a push.
    func didReturn(_ push: Push) {
        guard !push.job.lane.isStreamed else { return }
        let recipient = push.job.file.recipient(of: push.original)
        let count = underWay[recipient, default: 1] - 1
        underWay[recipient] = count > 0 ? count : nil
        underWayCount -= 1
    }

    private func drop() { exhausted.append(bulk.remove(at: nextBulk)) }

    /// Returns the jobs whose files have no more deliveries, each once.
    func takeExhausted() -> [Job] {
        defer { exhausted = [] }
        return exhausted
    }

    /// Empties the queue.
    ///
    /// - Returns: the jobs that had deliveries left.
    func removeAll() -> [Job] {
        var jobs = bulk
        for line in urgent + normal { jobs += line.rest.map { $0.job } }
        jobs += again.map { $0.job } + throttled
        urgent = [FairLine(), FairLine()]
        normal = [FairLine(), FairLine()]
        bulk = []
        again = Deque()
        throttled = []
        exhausted = []
        smallCount = 0
        backlogCount = 0
        var seen: Set<ObjectIdentifier> = []
        return jobs.filter { seen.insert(ObjectIdentifier($0)).inserted }
    }
}

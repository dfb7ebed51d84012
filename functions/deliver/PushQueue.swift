import Spool
import Turnstone

/// The deliveries of all jobs, in the order in which they are to be tried: by lanes, and in the lanes of small
/// notifications the devices first that are known to be good.
struct PushQueue {
    typealias Entry = (job: Job, delivery: Delivery)

    private var urgent = [Line(), Line()]
    private var normal = [Line(), Line()]
    private var bulk: [Job] = []
    private var nextBulk = 0
    /// What came back of bulk jobs.
    private var again = Line()
    /// Jobs of which the last delivery is out, since the last ``takeExhausted()``.
    private var exhausted: [Job] = []

    /// How many deliveries of small notifications wait.
    var smallCount: Int { (urgent + normal).reduce(0) { $0 + $1.count } }

    var bulkCount: Int { bulk.count }

    /// Bulk jobs that share the connection.
    static let mostBulk = 4

    var isEmpty: Bool { smallCount == 0 && bulk.isEmpty && again.count == 0 }

    /// - Returns: a small notification's deliveries.
    /// - Throws: where a small notification's file is damaged: nothing of it is in the queue then.
    mutating func append(_ job: Job) throws(Failure) -> [Delivery] {
        guard job.lane != .bulk else {
            bulk.append(job)
            return []
        }
        var deliveries: [Delivery] = []
        while let delivery = try job.file.next() { deliveries.append(delivery) }
        job.open = deliveries.count
        for delivery in deliveries { append((job, delivery)) }
        exhausted.append(job)
        return deliveries
    }

    private mutating func append(_ entry: Entry) {
        let place = entry.delivery.isProven ? 0 : 1
        switch entry.job.lane {
        case .urgent: urgent[place].append(entry)
        case .normal: normal[place].append(entry)
        case .bulk: again.append(entry)
        }
    }

    /// Takes back a delivery that was not tried.
    mutating func putBack(_ entry: Entry) { append(entry) }

    /// - Throws: where a job's file is damaged; the others can go on.
    mutating func popFirst() throws(Failure) -> Entry? {
        for place in urgent.indices { if let entry = urgent[place].popFirst() { return entry } }
        for place in normal.indices { if let entry = normal[place].popFirst() { return entry } }
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

    private mutating func drop() { exhausted.append(bulk.remove(at: nextBulk)) }

    /// The jobs of which nothing more comes, each once.
    mutating func takeExhausted() -> [Job] {
        defer { exhausted = [] }
        return exhausted
    }

    /// Empties it.
    ///
    /// - Returns: the jobs of which something was left.
    mutating func removeAll() -> [Job] {
        var jobs = bulk
        for line in urgent + normal + [again] { jobs += line.rest.map { $0.job } }
        self = PushQueue()
        var seen: Set<ObjectIdentifier> = []
        return jobs.filter { seen.insert(ObjectIdentifier($0)).inserted }
    }

    /// First in, first out.
    private struct Line {
        private var entries: [Entry?] = []
        private var start = 0

        var count: Int { entries.count - start }

        var rest: [Entry] { entries[start...].compactMap { $0 } }

        mutating func append(_ entry: Entry) { entries.append(entry) }

        mutating func popFirst() -> Entry? {
            guard start < entries.count, let entry = entries[start] else { return nil }
            entries[start] = nil
            start += 1
            if start > 1024, start * 2 > entries.count {
                entries.removeFirst(start)
                start = 0
            }
            return entry
        }
    }
}

import Turnstone
import Unix

/// Moves notifications out of a service's former queues. Their devices may be split among several queues, or
/// parts of one notification be put together.
final class QueueMove {
    private struct Source {
        let spool: Spool
        let intake: Intake
    }

    private let spools: Spools
    private let service: PushService
    private let sources: [Source]
    private let targets: [Spool]
    private let now: Timestamp
    private let report: (Failure) -> Void
    /// When this move began, by the system's clock.
    private let begun = Timestamp.systemNow
    /// The folders in which names have changed.
    private var changed: Set<String> = []

    init(
        _ held: [(spool: Spool, election: Election)], of service: PushService, to spools: Spools,
        at now: Timestamp, takeBack: @escaping TakeBackBadges,
        report: @escaping (Failure) -> Void
    ) throws(Failure) {
        self.spools = spools
        self.service = service
        self.now = now
        self.report = report
        targets = spools.spools(of: service)
        var sources: [Source] = []
        for (spool, election) in held {
            let intake = Intake(
                spool: spool, log: ReceiptLog(of: spool, election), takeBack: takeBack,
                report: report)
            try intake.recover(at: now)
            sources.append(Source(spool: spool, intake: intake))
        }
        self.sources = sources
    }

    func run() throws(Failure) {
        try forEachSource { (source) throws(Failure) in try moveHeld(from: source) }
        try forEachSource { (source) throws(Failure) in try moveNotifications(from: source) }
        for folder in changed {
            do throws(SystemError) { try Files.synchronizeFolder(folder) } catch {
                guard error.errno == .noEntry else { throw error.failure }
            }
        }
        try forEachSource { (source) throws(Failure) in
            try passCancellationsOn(from: source)
            try source.intake.log.commit()
            try source.intake.writeCheckpoint()
            source.intake.log.close()
            guard try !source.spool.hasAnything() else { return }
            _ = Files.removeAll(source.spool.seriesFolder)
        }
    }

    /// A file or folder that cannot be used keeps what is in its queue from moving, but not the other
    /// queues'.
    private func forEachSource(_ body: (Source) throws(Failure) -> Void) throws(Failure) {
        for source in sources {
            do throws(Failure) { try body(source) } catch {
                guard error.file != nil else { throw error }
                report(error)
            }
        }
    }

    private func target(_ digest: String) -> Spool {
        targets[(QueueName.number(ofDigest: digest, among: targets.count) ?? 1) - 1]
    }

    private func moveHeld(from source: Source) throws(Failure) {
        try source.spool.moveHeld(to: { target($0) }, report: report) {
            (message, target) throws(Failure) in
            guard let series = message.series else { return }
            try copyMarks(of: series, from: source, to: target)
            try target.countHeld(1, in: series, until: message.latestExpiration, now: now)
        }
    }

    private func moveNotifications(from source: Source) throws(Failure) {
        for folder in try source.spool.folders() {
            let list = FolderList(folder)
            while !ThisProcess.isTerminationRequested {
                let name: String?
                do throws(SystemError) { name = try list.next() } catch {
                    guard error.errno.isFileSpecific else { throw error.failure }
                    report(error.failure)
                    break
                }
                guard let name else { break }
                if let file = try source.intake.take(folder, name) { try move(file, from: source) }
            }
            if Files.name(of: Files.parent(of: folder)) == "waiting" {
                Files.removeEmptyFolder(folder)
            }
        }
    }

    private func move(_ file: SpoolFile, from source: Source) throws(Failure) {
        let id = file.notification.id
        var parts = [(source: source, file: file)]
        // A notification for one user is in one queue.
        if file.notification.user == nil {
            for other in sources where other.spool.queue != source.spool.queue {
                guard let path = try other.spool.path(of: id),
                    let part = try other.intake.take(Files.parent(of: path), Files.name(of: path))
                else { continue }
                parts.append((other, part))
            }
        }
        defer { for part in parts { part.source.intake.held[id] = nil } }
        do throws(Failure) {
            var numbers: Set<Int> = []
            parts = try sound(among: parts) { numbers.formUnion($0) }
            guard let file = parts.first?.file else { return }
            if numbers.isEmpty { numbers = [number(of: file.notification)] }
            // A part of it that came earlier must be finished before another one comes.
            for number in numbers {
                let target = targets[number - 1]
                if try target.contains(id) { return leave(parts) }
                // A notification for one user is in one queue.
                guard file.notification.user == nil else { continue }
                if try target.isInClosedFolder(id) { return leave(parts) }
            }
            if parts.count == 1, numbers.count == 1, let number = numbers.first,
                file.progress.start == nil
            {
                return try rename(file, from: source, to: targets[number - 1])
            }
            try rewrite(parts)
            // The new parts have only the devices without an outcome.
            for part in parts { part.source.intake.forgetRepair(of: id) }
        } catch {
            // A damaged one cannot be set aside while the document with its badge is locked.
            guard Damage.explains(error) || error.cause == FailureCause.busy else { throw error }
            report(error)
            leave(parts)
        }
    }

    /// The parts that can be read. The others are set aside.
    ///
    /// - Parameter body: gets the numbers of the queues that a part's devices go to.
    private func sound(
        among parts: [(source: Source, file: SpoolFile)], _ body: (Set<Int>) -> Void
    ) throws(Failure) -> [(source: Source, file: SpoolFile)] {
        var sound: [(source: Source, file: SpoolFile)] = []
        for part in parts {
            var numbers: Set<Int> = []
            do throws(Failure) {
                try forEachDelivery(of: part.file) { (_, number) in numbers.insert(number) }
            } catch {
                guard Damage.explains(error) else { throw error }
                try part.source.intake.setAside(part.file, error)
                continue
            }
            sound.append(part)
            body(numbers)
        }
        return sound
    }

    private func leave(_ parts: [(source: Source, file: SpoolFile)]) {
        for part in parts { part.source.intake.leave(part.file) }
    }

    /// The number of the queue for a notification without remaining devices.
    private func number(of notification: Notification) -> Int {
        notification.user.map { QueueName.number(of: $0, among: targets.count) } ?? 1
    }

    /// Calls `body` with each remaining delivery, and the number of the queue that it goes to.
    private func forEachDelivery(
        of file: SpoolFile, _ body: (Delivery, Int) throws(Failure) -> Void
    ) throws(Failure) {
        guard let whole = try SpoolFile.open(file.path) else { return }
        whole.progress = file.progress
        // Alternates go where the delivery goes that they belong to.
        var queues: [Int: Int] = [:]
        let hasAlternates = file.notification.user == nil
        while var delivery = try whole.nextOfAll() {
            delivery.isInDoubt = whole.isInDoubt(delivery)
            let known = delivery.isAlternate ? queues[delivery.number] : nil
            let queue = known ?? spools.queueNumber(of: delivery, in: file.notification)
            if hasAlternates { queues[delivery.number] = queue }
            try body(delivery, queue)
        }
    }

    /// Moves a file of which no device has been tried.
    private func rename(
        _ file: SpoolFile, from source: Source, to target: Spool
    ) throws(Failure) {
        let folder = "\(target.folder)/\(source.spool.place(of: file.path))"
        try prepare(file.notification, from: source, to: target)
        try systemCalls { () throws(SystemError) in
            if changed.insert(folder).inserted { try Files.makeFolder(folder) }
            try Files.rename(file.path, "\(folder)/\(file.notification.id).jsonl")
        }
        changed.insert(Files.parent(of: file.path))
    }

    /// Copies to a queue what it needs before it gets a notification: the marks of its series, and its
    /// cancellation.
    private func prepare(
        _ notification: Notification, from source: Source, to target: Spool
    ) throws(Failure) {
        if let series = notification.series {
            try copyMarks(of: series, from: source, to: target)
        }
        let cancellation = source.spool.cancellationPath(of: notification.id)
        if try systemCalls(Files.exists(cancellation)) {
            try target.markCancelled(notification.id)
        }
    }

    /// Writes the remaining devices of a notification to its new queues. The rename of
    /// `joint/<id>.<service>.json` accepts them there; any process that finds that file removes the old ones.
    private func rewrite(_ parts: [(source: Source, file: SpoolFile)]) throws(Failure) {
        let notification = parts[0].file.notification
        let id = notification.id
        let places = parts.map { $0.source.spool.place(of: $0.file.path) }
        let place = places.first { $0.utf8.starts(with: "ready/".utf8) } ?? places[0]
        var members = notification.members
        let pass = parts.map { $0.file.pass }.max() ?? 1
        let isBegun = parts.contains { $0.file.progress.start != nil }
        members["pass"] = .integer(Int64(isBegun ? pass + 1 : pass))
        members["reached"] = parts.contains { $0.file.isReached } ? true : nil
        members["outcomes"] =
            parts.reduce(JSONObject()) {
                $0.adding($1.file.outcomes?.object ?? [:])
            }.value
        var writers: [(spool: Spool, path: String, file: FileDescriptor, lines: LineWriter)] = []
        func writer(_ number: Int) throws(Failure) -> Int {
            let spool = targets[number - 1]
            if let known = writers.firstIndex(where: { $0.spool.queue == spool.queue }) {
                return known
            }
            let path = "\(spool.folder)/\(place)/\(id).jsonl"
            let file = try spool.openTemporary(for: path)
            var lines = LineWriter(file)
            try lines.begin(members)
            // Once among all parts: they are counts.
            members["outcomes"] = nil
            writers.append((spool, path, file, lines))
            return writers.count - 1
        }
        for part in parts {
            try forEachDelivery(of: part.file) { (delivery, number) throws(Failure) in
                let index = try writer(number)
                try writers[index].lines.append(delivery.members)
            }
        }
        if writers.isEmpty { _ = try writer(number(of: notification)) }
        let written = written(parts.map { $0.file })
        for index in writers.indices {
            try writers[index].lines.finish()
            let file = writers[index].file
            // A file system may set another time with what it writes late.
            date(file, written)
            try systemCalls(file.synchronize())
            date(file, written)
            for part in parts {
                try prepare(notification, from: part.source, to: writers[index].spool)
            }
        }
        let name = "\(id).\(service.rawValue)"
        try spools.acceptMoved(
            name, at: writers.map { $0.path }, from: parts.map { $0.source.spool.queue })
    }

    /// Drainers go by it. A file system may not know it.
    private func date(_ file: FileDescriptor, _ written: (seconds: Int64, rest: Int64)) {
        do throws(SystemError) {
            try file.date(seconds: written.seconds, nanoseconds: written.rest)
        } catch {}
    }

    /// When the first of a notification's files was written, by the system's clock, but at most 20 hours ago: an
    /// older temporary file may be taken for one that a killed program has left.
    private func written(_ files: [SpoolFile]) -> (seconds: Int64, rest: Int64) {
        var first = (
            seconds: begun.milliseconds / 1000, rest: begun.milliseconds % 1000 * 1_000_000
        )
        for file in files {
            do throws(SystemError) {
                guard let stamp = try Files.stamp(of: file.path) else { continue }
                if (stamp.seconds, stamp.nanoseconds) < first {
                    first = (stamp.seconds, stamp.nanoseconds)
                }
            } catch {}  // its place in the order is not known
        }
        let limit = (begun - .hours(20)).milliseconds / 1000
        return first.seconds < limit ? (limit, 0) : first
    }

    /// Copies the marks of a series: an older notification of it finds the newer ones by them.
    private func copyMarks(
        of series: Series, from source: Source, to target: Spool
    ) throws(Failure) {
        for mark in try source.spool.marks(of: series) where mark.id != SeriesMark.heldID {
            try target.copy(mark, in: series, from: source.spool.queue, at: now)
        }
    }

    /// Passes on cancellations that were made while their notifications were moved.
    private func passCancellationsOn(from source: Source) throws(Failure) {
        for id in try source.spool.cancelledIDs() where try !source.spool.contains(id) {
            for target in targets where try target.mayContain(id) { try target.markCancelled(id) }
            guard try !source.spool.mayContain(id) else { continue }
            Files.remove(source.spool.cancellationPath(of: id))
        }
    }
}

extension JSONObject {
    /// The sums of two objects' counts.
    fileprivate func adding(_ other: JSONObject) -> JSONObject {
        var sums = self
        for member in other.members {
            let known = sums[member.name]?.count ?? 0
            sums[member.name] = .integer(known + (member.value.count ?? 0))
        }
        return sums
    }

    /// `nil` if it has no members.
    fileprivate var value: JSONValue? { members.isEmpty ? nil : .object(self) }
}

import Turnstone
import Unix

/// The receipts: a file for each day and term, a line for each event. They record what became of each push,
/// so that after a crash the next drainer does not send it again. Only the drainer writes them, always at the
/// end.
///
/// ``append(_:of:in:)`` collects lines, and ``commit()`` makes many of them durable at once.
package final class ReceiptLog {
    /// One of the files of a queue's receipts.
    struct Volume: Comparable, Sendable {
        /// Such as `2026-11-21`.
        let day: String
        /// The term of the drainer that wrote it (``Election``).
        let term: Int64

        static func < (left: Volume, right: Volume) -> Bool {
            (left.day, left.term) < (right.day, right.term)
        }

        /// Where receipts may go on after it.
        var next: Volume { Volume(day: day, term: term.saturatingAdd(1)) }
    }

    /// A place in a queue's receipts.
    package struct Position: Comparable, Sendable {
        let volume: Volume
        let offset: Int

        var day: String { volume.day }

        package static func < (left: Position, right: Position) -> Bool {
            (left.volume, left.offset) < (right.volume, right.offset)
        }
    }

    let folder: String
    let queue: QueueName
    /// Whose holder writes.
    private var election: Election?
    private var file: FileDescriptor?
    private(set) var day = ""
    /// The offset at which the next commit writes.
    private var end = 0
    /// The offset up to which disk space is reserved for the file.
    private var reserved = 0
    private var canReserve = true
    /// The lines that the next commit writes there.
    private var pending: [UInt8] = []
    /// The number of bytes of `pending` that are written.
    private var written = 0
    /// The number of these that are durable.
    private var synced = 0
    /// The pushes that are about to be sent and are not in `pending` yet.
    var sending: Sending?

    /// The most bytes that the lines of one commit and of all pushes in flight take.
    private static let reserve = 4 << 20

    /// - Parameter election: the election whose holder writes receipts; `nil` to read them.
    package init(of spool: Spool, _ election: Election? = nil) {
        folder = "\(spool.state)/receipts"
        queue = spool.queue
        self.election = election
    }

    /// Lets the holder of an election write from now on. Call ``Intake/recover(at:)`` next.
    package func begin(_ election: Election) { self.election = election }

    var term: Int64 { election?.term ?? 0 }

    /// Lets what is written from now on be in files of its own.
    func raiseTerm() throws(Failure) { try election?.raise() }

    /// The number of bytes that wait for ``commit()``; at least 1 if a push is about to be sent.
    package var pendingBytes: Int { pending.count + (sending == nil ? 0 : 1) }

    var position: Position {
        Position(volume: Volume(day: day, term: term), offset: end + pending.count)
    }

    func path(_ volume: Volume) -> String {
        "\(folder)/\(volume.day).\(queue.text).\(volume.term).jsonl"
    }

    /// The file that is written.
    private var path: String { path(Volume(day: day, term: term)) }

    /// Opens a day's receipts for appending. Half a line that a crash left at the end is removed.
    func open(_ day: String) throws(Failure) {
        self.day = day
        end = 0
        file = nil
        let isThere = try systemCalls(Files.exists(path))
        if isThere { try open() }
        reserved = end
    }

    /// Opens or creates the day's file. It is created only when there is something to write.
    private func open() throws(Failure) {
        try systemCalls { () throws(SystemError) in
            try Files.makeFolder(folder)
            let file = try FileDescriptor.open(path, .update)
            end = try Self.endOfLines(file)
            // Even if the file was there: the process that created it may have failed to make its name
            // durable.
            if end == 0 { try Files.synchronizeFolder(folder) }
            try file.truncate(to: end)
            self.file = file
        }
    }

    /// Switches to the receipts of the next day when that day has come. If the clock is set back, nothing
    /// changes, so later lines are never in an earlier day's receipts.
    package func switchDay(at now: Timestamp) throws(Failure) {
        let today = CalendarDate(now).dayText
        guard pendingBytes == 0, today > day else { return }
        close()
        try open(today)
    }

    /// Reserves disk space for the receipts of the pushes in flight, so that they can be written even if the
    /// disk fills up meanwhile. Call it before pushes are sent.
    @export(interface)
    package func makeRoom() throws(Failure) {
        guard canReserve, position.offset + Self.reserve / 2 > reserved else { return }
        if file == nil { try open() }
        try systemCalls { () throws(SystemError) in
            let start = max(reserved, position.offset)
            canReserve = try file?.reserve(Self.reserve, at: start) ?? false
            reserved = start + Self.reserve
        }
    }

    /// Writes the appended lines. They survive the end of this process, but not a crash of the system.
    package func write() throws(Failure) {
        flushSending()
        guard written < pending.count else { return }
        try election?.checkTerm()
        if file == nil { try open() }
        try systemCalls(file?.write(Array(pending[written...]), at: end + written))
        written = pending.count
    }

    /// Writes the appended lines so that every machine that shares the folder can read them: whoever takes
    /// over from a machine that stands still then knows which pushes it may yet send.
    ///
    /// - Throws: also if somebody has taken over meanwhile, who could not know it.
    package func writeForOthers() throws(Failure) {
        try write()
        guard synced < written else { return }
        try synchronize()
    }

    private func synchronize() throws(Failure) {
        do throws(Failure) {
            try systemCalls(file?.synchronizeData())
            try election?.checkTerm()
        } catch {
            // After a failed sync, the contents of the disk are unknown.
            written = 0
            synced = 0
            throw error
        }
        synced = written
    }

    /// Makes the appended lines durable.
    ///
    /// - Throws: if writing fails. Nothing is lost then: the next call writes the lines again at the same
    ///   place.
    @export(interface)
    package func commit() throws(Failure) {
        try write()
        guard !pending.isEmpty else { return }
        try synchronize()
        // The receipts are durable: finish the notifications.
        end += pending.count
        pending.removeAll(keepingCapacity: true)
        written = 0
        synced = 0
    }

    /// Closes the file and gives the reserved space back.
    package func close() {
        do throws(SystemError) { try file?.truncate(to: end) } catch {}
        file = nil
    }

    /// Frees the disk space that a drainer which was killed had reserved for its receipts.
    func freeReserved() throws(Failure) {
        guard election?.isRaised == true,
            let last = try volumes().last(where: { $0.term < term })
        else { return }
        do throws(SystemError) {
            let file = try FileDescriptor.open(path(last), .update)
            try file.truncate(to: file.size())
        } catch {}  // it only takes space
    }

    func append(_ bytes: [UInt8]) { pending += bytes }

    /// The day whose receipts a drainer continues. It is the last day that has receipts, even if the clock
    /// was set back by some hours since, so that later lines always come later. A day more than two days
    /// ahead is ignored: otherwise it would get all receipts until the clock reaches it.
    func dayToContinue(at now: Timestamp) throws(Failure) -> String {
        let today = CalendarDate(now).dayText
        let farthest = CalendarDate(now + .days(2)).dayText
        return try volumes().last { $0.day > today && $0.day <= farthest }?.day ?? today
    }

    /// How long receipts are kept after the end of their day.
    package static let retention = Interval.days(30)

    package func removeOld(at now: Timestamp) throws(Failure) {
        let oldest = CalendarDate(now - Self.retention).dayText
        for volume in try volumes() where volume.day < oldest && volume.day < day {
            Files.remove(path(volume))
        }
        try removeOldSetAside(oldest)
    }

    private func removeOldSetAside(_ oldest: String) throws(Failure) {
        for copy in try files().setAside where copy.volume.day < oldest {
            if !Files.remove(copy.path) { _ = Files.removeAll(copy.path) }
        }
    }

    /// Removes the old receipts of a queue that has no drainer any more.
    func removeOldWithoutDrainer(at now: Timestamp) throws(Failure) {
        let oldest = CalendarDate(now - Self.retention).dayText
        for volume in try volumes() where volume.day < oldest { Files.remove(path(volume)) }
        try removeOldSetAside(oldest)
    }

    /// The files of this queue's receipts, oldest first.
    func volumes() throws(Failure) -> [Volume] { try files().volumes }

    /// The files of this queue's receipts, and those that could not be read and were set aside.
    func files() throws(Failure) -> (volumes: [Volume], setAside: [SetAside]) {
        var volumes: [Volume] = []
        var setAside: [SetAside] = []
        for name in try systemCalls(Files.names(in: folder)) {
            if let volume = Volume(name: name, of: queue) {
                volumes.append(volume)
            } else if let volume = SetAside.volume(named: name, of: queue) {
                setAside.append(SetAside(volume: volume, path: "\(folder)/\(name)"))
            }
        }
        return (volumes.sorted(), setAside)
    }
}

extension ReceiptLog {
    /// A file of receipts that could not be read, under the name that a drainer gave it. Nobody writes to its
    /// former name any more, so that it counts again once it can be read and has that name.
    struct SetAside {
        let volume: Volume
        let path: String

        /// What is added to the name, before the time in milliseconds.
        private static let suffix = ".unreadable-"

        /// The path of a file that is set aside now.
        static func path(for path: String) -> String {
            "\(path)\(suffix)\(Timestamp.systemNow.milliseconds)"
        }

        /// The volume that was set aside under this name, if one was.
        static func volume(named name: String, of queue: QueueName) -> Volume? {
            let bytes = Array(name.utf8)
            guard let end = firstPlace(of: Array(suffix.utf8), in: bytes, 0..<bytes.count) else {
                return nil
            }
            return Volume(name: String(decoding: bytes[..<end], as: UTF8.self), of: queue)
        }

        /// What a reader misses.
        var failure: Failure {
            Failure(
                .broken, "receipts could not be read and were moved to \(path)",
                cause: FailureCause.setAside, file: path)
        }
    }
}

extension ReceiptLog.Volume {
    /// - Returns: `nil` unless the name is `<day>.<queue>.<term>.jsonl`.
    init?(name: String, of queue: QueueName) {
        let parts = name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
            .map { String(decoding: Array($0), as: UTF8.self) }
        guard parts.count == 4, parts[0].utf8.count == 10, parts[1] == queue.text,
            let term = Int64(parts[2]), parts[3] == "jsonl"
        else { return nil }
        day = parts[0]
        self.term = term
    }
}

extension ReceiptLog {
    /// The offset of the end of the last whole line.
    static func endOfLines(_ file: FileDescriptor) throws(SystemError) -> Int {
        let piece = 65_536
        var end = try file.size()
        var step = piece
        while end > 0 {
            let start = max(0, end - step)
            // Nothing was ever written there. The step doubles, so a sparse file of a terabyte takes about
            // forty steps.
            if try file.nextData(from: start) >= end {
                end = start
                step *= 2
                continue
            }
            guard step == piece else {
                step = piece
                continue
            }
            let bytes = try file.read(upTo: end - start, at: start)
            if let last = bytes.lastIndex(of: UInt8(ascii: "\n")) { return start + last + 1 }
            end = start
        }
        return 0
    }
}

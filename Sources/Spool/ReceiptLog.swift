import Turnstone
import Unix

/// The receipts of a day, a line for each event, written at the end by the drainer alone: what became of
/// each push, and so what a drainer that comes after a crash need not do again.
///
/// Lines are gathered by ``append(_:of:in:)`` and hold from ``commit()`` on, which makes many of them durable
/// at once.
package final class ReceiptLog {
    /// A place in the receipts.
    package struct Position: Comparable, Sendable {
        /// Such as `2026-11-21`.
        let day: String
        let offset: Int

        package static func < (left: Position, right: Position) -> Bool {
            (left.day, left.offset) < (right.day, right.offset)
        }
    }

    let folder: String
    private var file: FileDescriptor?
    private(set) var day = ""
    /// Where the next commit writes.
    private var end = 0
    /// Until where there is room that nobody can take from us.
    private var reserved = 0
    private var canReserve = true
    /// What follows there.
    private var pending: [UInt8] = []
    /// How much of that was written and is not durable.
    private var written = 0
    /// What is about to be sent and is not among `pending` yet.
    var sending: Sending?

    /// What one commit's lines and those of all pushes in flight take at most.
    private static let reserve = 4 << 20

    /// - Parameter state: the state folder.
    package init(state: String) {
        folder = "\(state)/receipts"
    }

    /// The bytes that wait for ``commit()``.
    package var pendingBytes: Int { pending.count + (sending == nil ? 0 : 1) }

    var position: Position { Position(day: day, offset: end + pending.count) }

    func path(_ day: String) -> String { "\(folder)/\(day).jsonl" }

    /// Goes on at the end of a day's receipts; half a line that a crash has left there goes.
    func open(_ day: String) throws(Failure) {
        self.day = day
        end = 0
        file = nil
        let isThere = try systemCalls(Files.exists(path(day)))
        if isThere { try open() }
        reserved = end
    }

    /// The file is made when there is something to write.
    private func open() throws(Failure) {
        try systemCalls { () throws(SystemError) in
            try Files.makeFolder(folder)
            let file = try FileDescriptor.open(path(day), .update)
            end = try endOfLines(file)
            // Also where it is there: whoever made it may have failed to make its name durable.
            if end == 0 { try Files.synchronizeFolder(folder) }
            try file.truncate(to: end)
            self.file = file
        }
    }

    /// Goes on in the receipts of the next day, when it has come. A clock that is set back changes nothing:
    /// what is written later is never in an earlier day's.
    package func switchDay(at now: Timestamp) throws(Failure) {
        let today = CalendarDate(now).dayText
        guard pendingBytes == 0, today > day else { return }
        close()
        try open(today)
    }

    /// Makes sure that what will have to be noted of the pushes in flight can be noted, however full the disk
    /// gets meanwhile. To be called before pushes are sent.
    package func makeRoom() throws(Failure) {
        guard canReserve, position.offset + Self.reserve / 2 > reserved else { return }
        if file == nil { try open() }
        try systemCalls { () throws(SystemError) in
            let start = max(reserved, position.offset)
            canReserve = try file?.reserve(Self.reserve, at: start) ?? false
            reserved = start + Self.reserve
        }
    }

    /// Writes what was appended, so that it outlives this process, but not the system.
    package func write() throws(Failure) {
        flushSending()
        guard written < pending.count else { return }
        if file == nil { try open() }
        try systemCalls(file?.write(Array(pending[written...]), at: end + written))
        written = pending.count
    }

    /// Makes what was appended durable.
    ///
    /// - Throws: nothing is lost then: the next call writes it again, at the same place.
    package func commit() throws(Failure) {
        do throws(Failure) {
            try write()
            guard !pending.isEmpty else { return }
            try systemCalls(file?.synchronizeData())
        } catch {
            // After a failed sync nobody knows what is on the disk.
            written = 0
            throw error
        }
        end += pending.count
        pending.removeAll(keepingCapacity: true)
        written = 0
    }

    /// Gives back the room that was set aside.
    package func close() {
        do throws(SystemError) { try file?.truncate(to: end) } catch {}
        file = nil
    }

    func append(_ bytes: [UInt8]) { pending += bytes }

    /// The day whose receipts a drainer goes on with: the last one there is, also where the clock was set
    /// back by some hours since, so that what is written later always comes later. A day that is further
    /// ahead than two days is left alone: it would have to hold all receipts until the clock gets there.
    func dayToContinue(at now: Timestamp) throws(Failure) -> String {
        let today = CalendarDate(now).dayText
        let farthest = CalendarDate(now + .days(2)).dayText
        return try days().last { $0 > today && $0 <= farthest } ?? today
    }

    /// Receipts of days that ended longer ago are removed.
    package static let retention = Interval.days(30)

    package func removeOld(at now: Timestamp) throws(Failure) {
        let oldest = CalendarDate(now - Self.retention).dayText
        for day in try days() where day < oldest && day < self.day { Files.remove(path(day)) }
    }

    /// The days of which there are receipts, the oldest first.
    func days() throws(Failure) -> [String] {
        let names = try systemCalls(Files.names(in: folder))
        return names.compactMap { idOfFile($0) }.filter { $0.utf8.count == 10 }.sorted()
    }
}

/// Where the last whole line ends.
private func endOfLines(_ file: FileDescriptor) throws(SystemError) -> Int {
    let piece = 65_536
    var end = try file.size()
    var step = piece
    while end > 0 {
        let start = max(0, end - step)
        // Nothing was ever written there: a sparse file of a terabyte takes some forty steps.
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

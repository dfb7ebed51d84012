import JSON
import Turnstone
import Unix

/// Reads the receipts of one user, newest first, from the ends of the files backwards. They may be under any
/// of the user's ids.
///
/// Only the lines that name the user are parsed. It takes no lock, so receipts that are written meanwhile may
/// be missing. If the clock was set back, receipts of that time may come in another order.
package struct ReceiptHistory {
    private var volumes: [BackwardReceipts]
    private var setAside: [Failure] = []
    private var hasRead = false

    /// - Parameters:
    ///   - ids: the ids of one user.
    ///   - place: where an earlier reading stopped, to go on there; `nil` to begin with the newest receipt.
    @export(interface)
    package init(of ids: [UserID], in spools: Spools, from place: Place? = nil) throws(Failure) {
        volumes = []
        for spool in try spools.all() {
            let log = ReceiptLog(of: spool)
            let files = try log.files()
            setAside += files.setAside.map { $0.failure }
            var reader = BackwardReceipts(of: ids, in: log, volumes: files.volumes)
            if let place { reader.skip(to: place[spool.queue]) }
            volumes.append(reader)
        }
    }

    /// The next older receipt; `nil` after the oldest, or once the deadline has passed.
    ///
    /// However early the deadline is, some receipts are read, so that repeated calls reach the end.
    @export(interface)
    package mutating func next(until deadline: Instant) throws(Failure) -> Receipt? {
        while true {
            // An unread receipt of one queue may be newer than a found receipt of another.
            var newest: (place: Int, receipt: Receipt)?
            var unread: (place: Int, bound: Timestamp)?
            for (place, volume) in volumes.enumerated() {
                if let found = volume.next {
                    if newest.map({ $0.receipt.at < found.at }) ?? true { newest = (place, found) }
                } else if !volume.isAtEnd {
                    if unread.map({ $0.bound < volume.bound }) ?? true {
                        unread = (place, volume.bound)
                    }
                }
            }
            if let newest, unread.map({ $0.bound <= newest.receipt.at }) ?? true {
                volumes[newest.place].removeNext()
                return newest.receipt
            }
            guard let unread, !hasRead || Instant.now < deadline else { return nil }
            hasRead = true
            try volumes[unread.place].readOn()
        }
    }

    /// Whether everything was read and returned.
    package var isAtEnd: Bool { volumes.allSatisfy { $0.isAtEnd && $0.next == nil } }

    /// Why some receipts were left out so far: their files cannot be read, or could not and were set aside.
    package var unread: [Failure] { setAside + volumes.flatMap { $0.unread } }

    /// The place after the receipt that was returned last.
    package var place: Place {
        var place = Place()
        for volume in volumes { place.add(volume.queue, volume.place) }
        return place
    }

    /// A place in the receipts of all queues. A queue that it does not name is at its end.
    package struct Place: Equatable, Sendable {
        private var positions: [(queue: QueueName, position: ReceiptLog.Position)] = []

        init() {}

        mutating func add(_ queue: QueueName, _ position: ReceiptLog.Position?) {
            if let position { positions.append((queue, position)) }
        }

        subscript(queue: QueueName) -> ReceiptLog.Position? {
            positions.first { $0.queue == queue }?.position
        }

        package static func == (left: Place, right: Place) -> Bool {
            Set((left.positions + right.positions).map { $0.queue })
                .allSatisfy { left[$0] == right[$0] }
        }
    }
}

extension ReceiptHistory.Place {
    /// Reads the form that ``text`` writes.
    @export(interface)
    package init?(_ text: String) {
        self.init()
        let parts = text.utf8.split(separator: UInt8(ascii: "~"), omittingEmptySubsequences: false)
        guard parts.count <= 1024 else { return nil }
        for part in parts {
            let members = part.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
                .map { String(decoding: Array($0), as: UTF8.self) }
            guard members.count == 4, let queue = QueueName(members[0]),
                isDay(members[1]), let term = number(members[2]), let offset = number(members[3])
            else { return nil }
            add(
                queue,
                ReceiptLog.Position(
                    volume: ReceiptLog.Volume(day: members[1], term: term), offset: Int(offset)))
        }
    }

    /// Such as `apns.2026-11-21.1.4096~web.2026-11-21.1.0`: characters that need no escape in a URL.
    package var text: String {
        positions.map { (queue, position) in
            let offset = min(position.offset, Self.farthest)
            return "\(queue.text).\(position.volume.day).\(position.volume.term).\(offset)"
        }.joined(separator: "~")
    }

    /// The largest number of 18 digits.
    fileprivate static let farthest = 999_999_999_999_999_999
}

private func number(_ text: String) -> Int64? {
    guard (1...18).contains(text.utf8.count), text.utf8.allSatisfy({ (48...57).contains($0) })
    else { return nil }
    return Int64(text)
}

/// Whether a text has the form of `2026-11-21`.
private func isDay(_ text: String) -> Bool {
    text.utf8.count == 10
        && text.utf8.enumerated().allSatisfy { (place, byte) in
            place == 4 || place == 7 ? byte == UInt8(ascii: "-") : (48...57).contains(byte)
        }
}

/// The same for the receipts of one push service.
private struct BackwardReceipts {
    private let log: ReceiptLog
    private let ids: [UserID]
    /// As each line about the user has one of them.
    private let userMembers: [[UInt8]]
    /// The files that are not read to their beginning, oldest first.
    private var volumes: [ReceiptLog.Volume]
    private var file: FileDescriptor?
    /// Where in the last of them the lines begin that are read; `nil` if it is not open yet.
    private var start: Int?
    /// The lines that are read and not returned, newest last, and where each ends.
    private var found: [(receipt: Receipt, end: ReceiptLog.Position)] = []
    /// Why some files, or the older part of some, were left out.
    private(set) var unread: [Failure] = []
    /// No line that is not read yet is newer.
    private(set) var bound = Timestamp(milliseconds: .max)

    private static let piece = 1 << 18

    init(of ids: [UserID], in log: ReceiptLog, volumes: [ReceiptLog.Volume]) {
        self.log = log
        self.ids = ids
        self.volumes = volumes
        userMembers = ids.map {
            Array("\"user\":".utf8) + receiptText($0.text) + [UInt8(ascii: ",")]
        }
    }

    var queue: QueueName { log.queue }
    var next: Receipt? { found.last?.receipt }
    var isAtEnd: Bool { volumes.isEmpty }

    /// The place before which everything is still to be returned; `nil` if there is nothing.
    var place: ReceiptLog.Position? {
        if let found = found.last { return found.end }
        guard let volume = volumes.last else { return nil }
        return ReceiptLog.Position(volume: volume, offset: start ?? .max)
    }

    mutating func removeNext() { found.removeLast() }

    /// Leaves out everything from a place on; with `nil`, everything.
    mutating func skip(to place: ReceiptLog.Position?) {
        guard let place else { return volumes = [] }
        volumes.removeAll { $0 > place.volume }
        if volumes.last == place.volume { start = place.offset }
    }

    /// Reads the piece before the one that was read last.
    mutating func readOn() throws(Failure) {
        guard let volume = volumes.last else { return }
        guard let file = try open(volume), let end = start, end > 0 else { return leave() }
        let begin = max(0, end - Self.piece)
        let bytes: [UInt8]
        do throws(SystemError) { bytes = try file.read(upTo: end - begin, at: begin) } catch {
            guard error.errno.concernsOneFile else { throw error.failure }
            unread.append(error.failure)
            return leave()
        }
        // A line that begins before the piece is read with the piece before.
        var first = 0
        if begin > 0 {
            first = bytes.firstIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? bytes.count
            // No receipt is this long: it is damage.
            if first == bytes.count { first = 0 }
        }
        var lines: [(receipt: Receipt, end: ReceiptLog.Position)] = []
        for member in userMembers {
            forEachLine(with: member, of: bytes, from: first) { line in
                guard let members = members(of: bytes[line]),
                    let user = members["user"]?.string.flatMap({ UserID($0) }), ids.contains(user),
                    let receipt = Receipt(members, of: log.queue.service)
                else { return }
                let end = ReceiptLog.Position(volume: volume, offset: begin + line.upperBound + 1)
                lines.append((receipt, end))
            }
        }
        if userMembers.count > 1 { lines.sort { $0.end.offset < $1.end.offset } }
        found = lines
        if let oldest = oldestTime(in: bytes, from: first) { bound = min(bound, oldest) }
        start = begin + first
    }

    /// Opens a file, if it is there. Without ``start``, its end is found.
    private mutating func open(_ volume: ReceiptLog.Volume) throws(Failure) -> FileDescriptor? {
        if let file { return file }
        switch try log.openToRead(volume) {
        case .file(let file):
            do throws(SystemError) {
                // Space may be reserved behind the lines.
                let end = try ReceiptLog.endOfLines(file)
                start = min(start ?? end, end)
            } catch {
                guard error.errno.concernsOneFile else { throw error.failure }
                unread.append(error.failure)
                return nil
            }
            self.file = file
            return file
        case .gone: return nil
        case .unreadable(let error):
            unread.append(error.failure)
            return nil
        }
    }

    private mutating func leave() {
        volumes.removeLast()
        file = nil
        start = nil
    }

    /// Calls `body` with the place of each line that contains a member, oldest first.
    private func forEachLine(
        with member: [UInt8], of bytes: [UInt8], from first: Int, _ body: (Range<Int>) -> Void
    ) {
        var from = first
        while let match = firstPlace(of: member, in: bytes, from..<bytes.count) {
            var start = match
            while start > first, bytes[start - 1] != UInt8(ascii: "\n") { start -= 1 }
            var end = match + member.count
            while end < bytes.count, bytes[end] != UInt8(ascii: "\n") { end += 1 }
            guard end < bytes.count else { return }
            body(start..<end)
            from = end + 1
        }
    }

    /// The time of the first line that has one: a line that pushes are about to be sent, or an attempt.
    private func oldestTime(in bytes: [UInt8], from first: Int) -> Timestamp? {
        var start = first
        for _ in 0..<100 {
            guard let end = bytes[start...].firstIndex(of: UInt8(ascii: "\n")) else { return nil }
            if let time = members(of: bytes[start..<end])?["at"]?.timestamp { return time }
            start = end + 1
        }
        return nil
    }
}

import Crypto
import Documents
import JSON
import Turnstone
import Unix

/// The records of messages, in a folder for each day on which they were accepted: whole days are forgotten at
/// once.
///
/// A record is written once, and again when its message is cancelled. Both are done under one of 256 locks,
/// which stay when the day's folder is removed.
package struct MessageRecords {
    let folder: String
    /// Whether no other machine uses the folder.
    let isLocal: Bool

    /// How long a repeated request is recognized.
    package static let repeatWindow = Interval.hours(24)
    /// How long records are kept. A message waits at most 30 days, and its receipts are kept for 30 more.
    private static let retention = Interval.days(61)

    /// The id that a request with an idempotency key gives its message on a day.
    private func id(key: String, on day: String) -> String { stableUUID("message \(day) \(key)") }

    /// Runs `body` with a name's lock held. `body` must not use the network.
    package func holding<Result>(
        _ name: String, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try Lock.holding(lockName(name)) { (_) throws(Failure) in try body() }
    }

    /// The path of a name's lock, without `.lock`.
    private func lockName(_ name: String) -> String {
        "\(folder)/\(hex(SHA256.hash(Array(name.utf8)).prefix(1)))"
    }

    /// The id for the message of a request with an idempotency key, and the message's record if the key was
    /// used in the last 24 hours. The caller must hold the key's lock.
    ///
    /// - Parameter isClaiming: whether a new id is on disk before this returns. So a request that is repeated because
    ///   its program was killed before the record was written gets the same id, even on another day.
    @export(interface)
    package func lookUp(
        key: String, at now: Timestamp, isClaiming: Bool = true
    ) throws(Failure) -> (id: String, record: MessageRecord?) {
        // Later days too: the clock may have been set back.
        let recent = try recentDays(at: now)
        for day in recent {
            let id = id(key: key, on: day)
            for other in recent {
                guard let record = try record(id, other).readUnlocked(),
                    now - record.accepted < Self.repeatWindow
                else { continue }
                return (id, record)
            }
            if let claimed = try claim(of: id, on: day), now - claimed < Self.repeatWindow {
                return (id, nil)
            }
        }
        let today = CalendarDate(now).dayText
        let id = id(key: key, on: today)
        if isClaiming { try writeClaim(of: id, on: today, at: now) }
        return (id, nil)
    }

    private func claimPath(_ id: String, _ day: String) -> String { "\(folder)/\(day)/\(id).claim" }

    /// When an id without a record was claimed.
    private func claim(of id: String, on day: String) throws(Failure) -> Timestamp? {
        let bytes = try systemCalls(Files.contents(claimPath(id, day)))
        guard let text = bytes.map({ String(decoding: $0, as: UTF8.self) }) else { return nil }
        return Int64(text).map { Timestamp(milliseconds: $0) }
    }

    private func writeClaim(
        of id: String, on day: String, at now: Timestamp
    ) throws(Failure) {
        try systemCalls { () throws(SystemError) in
            try Files.makeFolder("\(folder)/\(day)")
            try Files.replace(claimPath(id, day), with: Array(String(now.milliseconds).utf8))
        }
    }

    /// The days since 24 hours ago that have messages, latest first.
    private func recentDays(at now: Timestamp) throws(Failure) -> [String] {
        let first = CalendarDate(now - Self.repeatWindow).dayText
        return try days().reversed().filter { $0 >= first }
    }

    /// The record of an id; `nil` if this installation has no message with it.
    @export(interface)
    package func find(_ id: String) throws(Failure) -> MessageRecord? {
        guard isID(id) else { return nil }
        return try patiently(id) { () throws(Failure) in try look(for: id) }
    }

    /// The same for a caller who holds the id's lock, so that nobody is replacing the record.
    @export(interface)
    package func findLocked(_ id: String) throws(Failure) -> MessageRecord? {
        isID(id) ? try look(for: id) : nil
    }

    /// Looks again for a record that seems to be missing, at last with the id's lock held. Some network file systems
    /// say that of a file that is replaced while it is opened.
    private func patiently(
        _ id: String, _ look: () throws(Failure) -> MessageRecord?
    ) throws(Failure) -> MessageRecord? {
        var patience = Patience()
        repeat {
            if let record = try look() { return record }
        } while !isLocal && patience.wait()
        // Without that lock nobody has replaced it. An id that nobody knows leaves no lock file.
        guard !isLocal, try systemCalls(Files.exists("\(lockName(id)).lock")) else { return nil }
        return try holding(id, look)
    }

    private func look(for id: String) throws(Failure) -> MessageRecord? {
        var unreadable: Failure?
        for day in try days().reversed() {
            // The record may be in another day's folder than the one that cannot be read.
            do throws(Failure) {
                if let record = try record(id, day).readUnlocked() { return record }
            } catch {
                guard error.isFileSpecific else { throw error }
                unreadable = error
            }
        }
        if let unreadable { throw unreadable }
        for day in try days() {
            // Something else in the place of a day's folder says nothing of its records.
            let place = "\(folder)/\(day)"
            let isFolder = try systemCalls(Files.exists("\(place)/."))
            guard isFolder else { throw SystemError("open", place, .notDirectory).failure }
        }
        return nil
    }

    /// A page of the records, latest first, and how many there are. Records that cannot be read are left out.
    ///
    /// A record is written when its message is accepted, and perhaps later: so only those need to be read
    /// whose files are newer than what is wanted.
    @export(interface)
    package func latest(
        from offset: Int, atMost count: Int
    ) throws(Failure) -> (total: Int, records: [Entry]) {
        var total = 0
        var records: [Entry] = []
        for day in try days().reversed() {
            let ids = try systemCalls(Files.names(in: "\(folder)/\(day)"))
                .filter { $0.utf8.suffix(5).elementsEqual(".json".utf8) }
                .map { String(decoding: Array($0.utf8.dropLast(5)), as: UTF8.self) }
            let first = max(0, offset - total)
            total += ids.count
            guard records.count < count, first < ids.count else { continue }
            let newest = try newest(first + count - records.count, of: ids, on: day)
            records += newest.dropFirst(first)
        }
        return (total, records)
    }

    package typealias Entry = (id: String, record: MessageRecord)

    /// The latest records of a day.
    private func newest(
        _ count: Int, of ids: [String], on day: String
    ) throws(Failure) -> [Entry] {
        var files: [(written: Timestamp, id: String)] = []
        for id in ids {
            guard let written = try record(id, day).changed() else { continue }
            files.append((written, id))
        }
        files.sort { ($0.written, $0.id) > ($1.written, $1.id) }
        var newest: [Entry] = []
        for (written, id) in files {
            // A file system's clock ticks only some hundred times a second.
            if newest.count >= count,
                newest[count - 1].record.accepted > written + .milliseconds(100)
            {
                break
            }
            do throws(Failure) {
                let found = try patiently(id) { () throws(Failure) in
                    try record(id, day).readUnlocked()
                }
                guard let record = found else { continue }
                // Nearly always the last one.
                let before = newest.lastIndex {
                    ($0.record.accepted, $0.id) > (record.accepted, id)
                }
                newest.insert((id, record), at: before.map { $0 + 1 } ?? 0)
            } catch {
                guard error.isDocumentSpecific else { throw error }
                error.recordFile()
            }
        }
        return Array(newest.prefix(count))
    }

    /// Removes a user from the records, which name the users that a message did not reach. In damaged copies
    /// the name is overwritten.
    ///
    /// - Returns: how many files named the user.
    func erase(_ user: UserID, _ unreadable: inout Skipped) throws(Failure) -> Int {
        guard try systemCalls(Files.exists(folder)) else { return 0 }
        let name = Array(JSON.text(.string(user.text)).dropFirst().dropLast())
        var count = 0
        for day in try unreadable.names(in: folder) where day.utf8.count == 10 {
            for file in try unreadable.names(in: "\(folder)/\(day)") {
                let path = "\(folder)/\(day)/\(file)"
                var isNamed = false
                try unreadable.attempt { () throws(SystemError) in
                    try Files.contains(name, in: path, as: .element)
                } then: {
                    isNamed = $0
                }
                guard isNamed else { continue }
                count += 1
                if file.utf8.suffix(5).elementsEqual(".json".utf8) {
                    let id = String(decoding: Array(file.utf8.dropLast(5)), as: UTF8.self)
                    if try erase(user, fromRecord: id, day, &unreadable) { continue }
                }
                // The record may just have been set aside as damaged.
                for copy in try unreadable.names(in: "\(folder)/\(day)")
                where copy.utf8.starts(with: file.utf8) {
                    try unreadable.attempt { () throws(SystemError) in
                        try Files.overwrite(
                            name, with: UInt8(ascii: "-"), in: "\(folder)/\(day)/\(copy)",
                            as: .element)
                    } then: { (_) in
                    }
                }
            }
        }
        return count
    }

    /// - Returns: false if the record is damaged.
    private func erase(
        _ user: UserID, fromRecord id: String, _ day: String, _ unreadable: inout Skipped
    ) throws(Failure) -> Bool {
        var isDamaged = false
        try unreadable.attempt { () throws(Failure) in
            try holding(id) { () throws(Failure) in
                do throws(Failure) {
                    guard var record = try record(id, day).readUnlocked() else { return }
                    record.erase(user)
                    try self.record(id, day).writeUnlocked(record)
                } catch {
                    guard error.cause == FailureCause.corrupt else { throw error }
                    isDamaged = true
                }
            }
        }
        return !isDamaged
    }

    /// Writes a record, replacing an earlier one.
    @export(interface)
    package func write(_ record: MessageRecord, of id: String) throws(Failure) {
        try self.record(id, CalendarDate(record.accepted).dayText).writeUnlocked(record)
        guard record.fingerprint != nil else { return }
        for day in try recentDays(at: record.accepted) { Files.remove(claimPath(id, day)) }
    }

    /// Removes the folders of days that are over for 61 days.
    @export(interface)
    package func removeOld(at now: Timestamp) throws(Failure) {
        let oldest = CalendarDate(now - Self.retention).dayText
        for day in try days() where day < oldest {
            try systemCalls(Files.removeFolder("\(folder)/\(day)"))
        }
    }

    private func record(_ id: String, _ day: String) -> StoredDocument<MessageRecord> {
        Shelf(folder: "\(folder)/\(day)")[DocumentName(single: id)]
    }

    private func days() throws(Failure) -> [String] {
        let names = try systemCalls(Files.names(in: folder))
        return names.filter { $0.utf8.count == 10 }.sorted()
    }
}

/// Whether the text looks like a lower-case UUID, and so is safe in a path.
func isID(_ text: String) -> Bool {
    text.utf8.count == 36
        && text.utf8.allSatisfy {
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0) || $0 == UInt8(ascii: "-")
        }
}

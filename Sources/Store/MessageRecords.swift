import Crypto
import Documents
import Turnstone
import Unix

/// The records of messages, a folder for each day on which they were accepted: whole days are forgotten at once.
///
/// A record is written once and, when its message is called off, once more. Both are done under one of 256 locks,
/// which stay when the day's folder goes.
package struct MessageRecords {
    let folder: String

    /// For so long a repeated request is known.
    package static let memory = Interval.hours(24)
    /// A message waits 30 days at the most, and its receipts are kept for 30 more.
    private static let keeping = Interval.days(61)

    /// A message's id as a request with an idempotency key makes it on a day.
    private func id(key: String, on day: String) -> String { stableUUID("message \(day) \(key)") }

    /// Holds the lock of whatever is known by a name: no network.
    package func holding<Result>(
        _ name: String, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let shard = hex(SHA256.hash(Array(name.utf8)).prefix(1))
        return try Lock.holding("\(folder)/\(shard)") { (_) throws(Failure) in try body() }
    }

    /// The id that the message of a request with an idempotency key has or gets, and its record if the same key
    /// came in the last 24 hours. To be asked while the key's lock is held.
    ///
    /// An id that is given is on disk before this returns. So whoever repeats a request that was killed before its
    /// record was written gets the same id, though another day may have begun.
    package func lookUp(
        key: String, at now: Timestamp
    ) throws(Failure) -> (id: String, record: MessageRecord?) {
        // Of later days as well: the clock may have been set back since.
        let recent = try recentDays(at: now)
        for day in recent {
            let id = id(key: key, on: day)
            for other in recent {
                guard let record = try record(id, other).readUnlocked(),
                    now - record.accepted < Self.memory
                else { continue }
                return (id, record)
            }
            if let claimed = try claim(of: id, on: day), now - claimed < Self.memory {
                return (id, nil)
            }
        }
        let today = CalendarDate(now).dayText
        let id = id(key: key, on: today)
        try writeClaim(of: id, on: today, at: now)
        return (id, nil)
    }

    private func claimPath(_ id: String, _ day: String) -> String { "\(folder)/\(day)/\(id).claim" }

    /// When an id was given that has no record yet.
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

    /// The days from 24 hours ago on that there are messages of, the latest first.
    private func recentDays(at now: Timestamp) throws(Failure) -> [String] {
        let first = CalendarDate(now - Self.memory).dayText
        return try days().reversed().filter { $0 >= first }
    }

    /// The record of an id that this installation gave.
    package func find(_ id: String) throws(Failure) -> MessageRecord? {
        guard isID(id) else { return nil }
        var unreadable: Failure?
        for day in try days().reversed() {
            // It may be in another day's folder than in one that cannot be entered.
            do throws(Failure) {
                if let record = try record(id, day).readUnlocked() { return record }
            } catch {
                guard error.isOfOneFile else { throw error }
                unreadable = error
            }
        }
        if let unreadable { throw unreadable }
        return nil
    }

    /// Writes a record, or writes it anew.
    package func write(_ record: MessageRecord, of id: String) throws(Failure) {
        try self.record(id, CalendarDate(record.accepted).dayText).writeUnlocked(record)
        guard record.fingerprint != nil else { return }
        for day in try recentDays(at: record.accepted) { Files.remove(claimPath(id, day)) }
    }

    /// Forgets the days that are long over.
    package func removeOld(at now: Timestamp) throws(Failure) {
        let oldest = CalendarDate(now - Self.keeping).dayText
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

/// Whether it is a UUID in lower case, and so a name that leads nowhere else.
private func isID(_ text: String) -> Bool {
    text.utf8.count == 36
        && text.utf8.allSatisfy {
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0) || $0 == UInt8(ascii: "-")
        }
}

import Crypto
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

    /// A message's id as a request with an idempotency key makes it on a day: two requests with one key find one
    /// record.
    private func id(key: String, on moment: Timestamp) -> String {
        stableUUID("message \(CalendarDate(moment).dayText) \(key)")
    }

    /// Holds the lock of whatever is known by a name: no network.
    package func holding<Result>(
        _ name: String, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let shard = hex(SHA256.hash(Array(name.utf8)).prefix(1))
        return try Lock.holding("\(folder)/\(shard)") { (_) throws(Failure) in try body() }
    }

    /// The id that the message of a request with an idempotency key has or gets, and its record if the same key
    /// came in the last 24 hours. To be asked while the key's lock is held.
    package func lookUp(
        key: String, at now: Timestamp
    ) throws(Failure) -> (id: String, record: MessageRecord?) {
        let today = id(key: key, on: now)
        let earlier = [(today, now), (id(key: key, on: now - Self.memory), now - Self.memory)]
        for (id, moment) in earlier {
            guard let record = try shelf(CalendarDate(moment).dayText).readAlone(id),
                now - record.accepted < Self.memory
            else { continue }
            return (id, record)
        }
        return (today, nil)
    }

    /// The record of an id that this installation gave.
    package func find(_ id: String) throws(Failure) -> MessageRecord? {
        guard isID(id) else { return nil }
        for day in try days().reversed() {
            if let record = try shelf(day).readAlone(id) { return record }
        }
        return nil
    }

    /// Writes a record, or writes it anew.
    package func write(_ record: MessageRecord, of id: String) throws(Failure) {
        try shelf(CalendarDate(record.accepted).dayText).writeAlone(record, id)
    }

    /// Forgets the days that are long over.
    package func removeOld(at now: Timestamp) throws(Failure) {
        let oldest = CalendarDate(now - Self.keeping).dayText
        for day in try days() where day < oldest {
            try systemCalls { () throws(SystemError) in try Files.removeFolder("\(folder)/\(day)") }
        }
    }

    private func shelf(_ day: String) -> Shelf<MessageRecord> {
        Shelf(folder: "\(folder)/\(day)")
    }

    private func days() throws(Failure) -> [String] {
        let names = try systemCalls { () throws(SystemError) in try Files.names(in: folder) }
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

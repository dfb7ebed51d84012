import JSON
import Turnstone
import Unix

/// How many pushes ended how in each hour of the last 31 days.
///
/// They are counted from the receipts. The counts are kept in `statistics/<day>.json` together with the
/// place up to which it was read, so that each receipt is read once, by the first request that has the time.
package struct PushStatistics {
    /// An hour of one push service.
    package struct Hour {
        /// Its beginning.
        package let start: Timestamp
        package let service: PushService
        package fileprivate(set) var counts: PushCounts
    }

    package fileprivate(set) var hours: [Hour] = []
    /// How many bytes of receipts were not read yet.
    package fileprivate(set) var uncounted = 0
    /// Why some receipts were left out: their files are there and cannot be read.
    package fileprivate(set) var unread: [Failure] = []

    /// The days that are shown and stored.
    package static let days = 31
}

extension Spools {
    private var statistics: String { "\(state)/statistics" }

    /// Counts the receipts that were not counted yet, the newest days first.
    ///
    /// - Parameter end: when to stop reading.
    /// - Returns: the counts of all days so far. If another process is counting, it is what that one has
    ///   stored.
    @export(interface)
    package func statistics(at now: Timestamp, until end: Instant) throws(Failure) -> PushStatistics
    {
        let first = CalendarDate(now - .days(Int64(PushStatistics.days))).dayText
        var logs: [(log: ReceiptLog, volumes: [ReceiptLog.Volume])] = []
        var days: Set<String> = []
        var unread: [Failure] = []
        for spool in try all() {
            let log = ReceiptLog(of: spool)
            let files = try log.files()
            let volumes = files.volumes.filter { $0.day > first }
            unread += files.setAside.filter { $0.volume.day > first }.map { $0.failure }
            logs.append((log, volumes))
            for volume in volumes { days.insert(volume.day) }
        }
        let stored = try storedDays(since: first)
        days.formUnion(stored)
        var result = PushStatistics()
        result.unread = unread
        guard !days.isEmpty else { return result }
        try systemCalls(Files.makeFolder(statistics))
        let lock = try systemCalls(FileDescriptor.open("\(statistics)/counts.lock", .update))
        let isCounting = try systemCalls(lock.tryLock())
        defer { lock.unlock() }
        for day in days.sorted(by: >) {
            let path = "\(statistics)/\(day).json"
            var counts = try DayCounts(path)
            let parts = logs.flatMap { (log, volumes) in
                volumes.filter { $0.day == day }.map { (log, $0) }
            }
            if isCounting {
                for (log, volume) in parts where try counts.isAhead(of: log, volume) {
                    counts = .anew
                }
            }
            for (log, volume) in parts {
                try counts.read(log, volume, until: isCounting ? end : .first)
            }
            if isCounting, counts.hasChanged { try counts.write(path) }
            result.uncounted += counts.uncounted
            result.unread += counts.unread
            for hour in counts.hours { result.add(hour) }
        }
        return result
    }

    /// The days with counts, after older ones were removed.
    private func storedDays(since first: String) throws(Failure) -> [String] {
        var days: [String] = []
        for name in try systemCalls(Files.names(in: statistics)) {
            guard name.utf8.count == 15, name.utf8.suffix(5).elementsEqual(".json".utf8) else {
                continue
            }
            let day = String(decoding: name.utf8.prefix(10), as: UTF8.self)
            if day > first { days.append(day) } else { Files.remove("\(statistics)/\(name)") }
        }
        return days
    }
}

extension PushStatistics {
    /// Lines at midnight may be in the next day's file.
    fileprivate mutating func add(_ hour: Hour) {
        let place = hours.firstIndex { $0.start == hour.start && $0.service == hour.service }
        guard let place else { return hours.append(hour) }
        hours[place].counts += hour.counts
    }
}

/// The counts of the receipts of one day.
private struct DayCounts {
    private(set) var hours: [PushStatistics.Hour] = []
    /// By queue and term: how many bytes were read.
    private var read = JSONObject()
    private(set) var hasChanged = false
    private(set) var uncounted = 0
    private(set) var unread: [Failure] = []

    private static let piece = 1 << 20

    /// Damaged counts are dropped, and made again from the receipts.
    init(_ path: String) throws(Failure) {
        var bytes: [UInt8]?
        do throws(SystemError) { bytes = try Files.contents(path) } catch {
            guard error.errno.isFileSpecific else { throw error.failure }
        }
        var members: JSONObject?
        do throws(JSONError) {
            members = try bytes.flatMap { (bytes) throws(JSONError) in try JSON.parse(bytes) }?
                .object
        } catch {}
        guard let members, members["version"]?.integer == 1, let read = members["read"]?.object,
            let elements = members["hours"]?.array
        else { return }
        for element in elements {
            guard let members = element.object, let start = members["hour"]?.timestamp,
                let service = members["service"]?.string.flatMap(PushService.init),
                let counts = PushCounts(members)
            else {
                hours = []
                return
            }
            hours.append(PushStatistics.Hour(start: start, service: service, counts: counts))
        }
        self.read = read
    }

    /// The offset and the counts belong together, so they are in one file. It need not be durable: it can be
    /// made again.
    func write(_ path: String) throws(Failure) {
        let hours = hours.map { hour in
            var members: JSONObject = [
                "hour": JSONValue(hour.start), "service": .string(hour.service.rawValue),
            ]
            for member in hour.counts.json.members { members.append(member.name, member.value) }
            return JSONValue.object(members)
        }
        let document: JSONValue = [
            "version": 1, "read": .object(read), "hours": .array(hours),
        ]
        try systemCalls(
            Files.replace(path, with: JSON.text(document) + [UInt8(ascii: "\n")], durably: false))
    }

    /// Counts the lines of a file of receipts that were not counted yet.
    mutating func read(
        _ log: ReceiptLog, _ volume: ReceiptLog.Volume, until end: Instant
    ) throws(Failure) {
        let name = "\(log.queue.text).\(volume.term)"
        let file: FileDescriptor
        switch try log.openToRead(volume) {
        case .file(let opened): file = opened
        case .gone: return
        case .unreadable(let error): return unread.append(error.failure)
        }
        let size = try systemCalls(file.size())
        var offset = Int(read[name]?.count ?? 0)
        var endsInHalfLine = false
        var isUnreadable = false
        while offset < size, Instant.now < end {
            let bytes: [UInt8]
            do throws(SystemError) { bytes = try file.read(upTo: Self.piece, at: offset) } catch {
                guard error.errno.concernsOneFile else { throw error.failure }
                unread.append(error.failure)
                isUnreadable = true
                break
            }
            guard let last = bytes.lastIndex(of: UInt8(ascii: "\n")) else {
                guard bytes.count == Self.piece else {
                    endsInHalfLine = true
                    break
                }
                let next = try systemCalls(file.nextData(from: offset + bytes.count))
                offset = next
                continue
            }
            count(bytes, upTo: last, of: log.queue.service, on: volume.day)
            offset += last + 1
        }
        if Int64(offset) != read[name]?.count ?? 0 {
            read[name] = .integer(Int64(offset))
            hasChanged = true
        }
        // A crash leaves half a line, which is ignored; otherwise the rest of it is just being written.
        if !endsInHalfLine, !isUnreadable { uncounted += max(0, size - offset) }
    }

    private init() {}

    /// Without any line counted, to count them all again.
    static var anew: DayCounts {
        var counts = DayCounts()
        counts.hasChanged = true
        return counts
    }

    /// Whether a file of receipts is shorter than what was counted of it: a power failure has removed lines
    /// that were not durable, or the folder is a backup.
    func isAhead(
        of log: ReceiptLog, _ volume: ReceiptLog.Volume
    ) throws(Failure) -> Bool {
        guard let counted = read["\(log.queue.text).\(volume.term)"]?.count else { return false }
        guard case .file(let file) = try log.openToRead(volume) else { return false }
        return try counted > systemCalls(file.size())
    }

    private mutating func count(
        _ bytes: [UInt8], upTo last: Int, of service: PushService, on day: String
    ) {
        var start = 0
        while start <= last {
            var end = start
            while bytes[end] != UInt8(ascii: "\n") { end += 1 }
            if let line = ReceiptLine(bytes, start..<end) { count(line, of: service) }
            start = end + 1
        }
    }

    private mutating func count(_ line: ReceiptLine, of service: PushService) {
        let hour = line.at.floor(to: .hours(1))
        // Lines are in order, so it is nearly always the last one.
        let known = hours.lastIndex { $0.start == hour && $0.service == service }
        let place = known ?? hours.count
        if known == nil {
            hours.append(PushStatistics.Hour(start: hour, service: service, counts: PushCounts()))
        }
        guard let outcome = line.outcome else {
            hours[place].counts.retries += 1
            if let reason = line.reason { hours[place].counts.count(reason, of: "retry") }
            return
        }
        if let index = Outcome.all.firstIndex(of: outcome) {
            hours[place].counts.outcomes[index] += 1
        }
        if outcome == .accepted {
            if let delay = line.delay { hours[place].counts.delays.count(delay) }
            if let delay = line.sinceMove { hours[place].counts.moveDelays.count(delay) }
        } else if let reason = line.reason {
            hours[place].counts.count(reason, of: outcome.rawValue)
        }
    }
}

/// The members of a receipt that the statistics need. The line is not parsed as JSON, which would take ten
/// times as long: the drainer writes all lines in one form, in which a member's name with its quotes is
/// nowhere in a value.
private struct ReceiptLine {
    let at: Timestamp
    /// `nil` if the push was put off.
    var outcome: Outcome?
    var reason: String?
    var delay: Interval?
    var sinceMove: Interval?

    /// - Returns: `nil` unless it is an attempt or an outcome. A message that is brought by another
    ///   notification (`in`) counts there.
    init?(_ bytes: [UInt8], _ range: Range<Int>) {
        func end(_ name: StaticString) -> Int? {
            let needle = name.withUTF8Buffer { Array($0) }
            return firstPlace(of: needle, in: bytes, range).map { $0 + needle.count }
        }
        func number(_ name: StaticString) -> Int64? {
            guard var place = end(name) else { return nil }
            var value: Int64?
            while place < range.upperBound, (48...57).contains(bytes[place]) {
                value = (value ?? 0).saturatingMultiply(10).saturatingAdd(Int64(bytes[place] - 48))
                place += 1
            }
            return value
        }
        func text(_ name: StaticString) -> String? {
            guard let start = end(name) else { return nil }
            var place = start
            while place < range.upperBound, bytes[place] != UInt8(ascii: "\"") {
                // Shown as it stands; longer ones are cut.
                place += bytes[place] == UInt8(ascii: "\\") ? 2 : 1
            }
            return String(
                decoding: bytes[start..<min(place, range.upperBound, start + 100)], as: UTF8.self)
        }
        guard end("\"n\":") != nil, end("\"in\":") == nil, let at = number("\"at\":") else {
            return nil
        }
        self.at = Timestamp(milliseconds: at)
        if let name = text("\"outcome\":\"") {
            guard let outcome = Outcome(rawValue: name) else { return nil }
            self.outcome = outcome
        } else if end("\"apns_id\":") == nil {
            return nil
        }
        if outcome != .accepted { reason = text("\"reason\":\"") }
        delay = number("\"delay\":").map { .milliseconds($0) }
        sinceMove = number("\"since_move\":").map { .milliseconds($0) }
    }
}

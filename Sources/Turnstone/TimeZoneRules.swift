/// The clock changes of a time zone, read from a file of the IANA time zone database (TZif, RFC 9636).
///
/// Files with leap seconds (`right/…`) and the first version of the format, which ends in 2038, are not
/// supported.
package struct TimeZoneRules: Sendable {
    /// When the clocks change, in seconds since 1970, and what they show from then on, as an index into
    /// `offsets`.
    private var transitions: [(moment: Int64, type: Int)] = []
    /// Seconds east of Greenwich.
    private var offsets: [Int64] = []
    /// The rule after the last transition; `nil` if the last transition's type stays in force.
    private var footer: PosixZone?

    /// - Parameter bytes: the whole file.
    package init?(_ bytes: [UInt8]) {
        var reader = Reader(bytes)
        // The first block is for programs that only know version 1.
        guard let first = reader.header(), first.version >= UInt8(ascii: "2"),
            reader.skip(first.length(ofTime: 4)), let header = reader.header(),
            header.leapSeconds == 0
        else { return nil }
        var moments: [Int64] = []
        for _ in 0..<header.transitions {
            guard let moment = reader.number(8) else { return nil }
            moments.append(moment)
        }
        for moment in moments {
            guard let type = reader.byte() else { return nil }
            transitions.append((moment, Int(type)))
        }
        for _ in 0..<header.types {
            guard let offset = reader.number(4), reader.skip(2), abs(offset) < 86_400 * 8 else {
                return nil
            }
            offsets.append(offset)
        }
        guard !offsets.isEmpty, transitions.allSatisfy({ $0.type < header.types }),
            reader.skip(header.lengthAfterTypes), reader.byte() == UInt8(ascii: "\n"),
            let rule = reader.line()
        else { return nil }
        guard !rule.isEmpty else { return }
        guard let zone = PosixZone(rule) else { return nil }
        footer = zone
    }

    /// How many seconds the clocks are ahead of UTC.
    package func offset(at moment: Timestamp) -> Int64 {
        // From the beginning of the year 1.
        let seconds = min(max(moment.seconds, -62_135_596_800), Timestamp.latest.seconds)
        // The number of transitions that are not later.
        var low = 0
        var high = transitions.count
        while low < high {
            let middle = (low + high) / 2
            if transitions[middle].moment <= seconds { low = middle + 1 } else { high = middle }
        }
        if low == transitions.count, let footer { return footer.offset(at: seconds) }
        return offsets[low == 0 ? 0 : transitions[low - 1].type]
    }

    /// The time on the clock, in minutes since midnight.
    package func minute(at moment: Timestamp) -> Int {
        let second = (moment.seconds + offset(at: moment)) % 86_400
        return Int((second + 86_400) % 86_400 / 60)
    }
}

/// Reads a TZif file from its beginning.
private struct Reader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { rest = bytes[...] }

    struct Header {
        let version: UInt8
        let transitions: Int
        let types: Int
        let leapSeconds: Int
        fileprivate let standardMarks: Int
        fileprivate let universalMarks: Int
        fileprivate let characters: Int

        /// The size of a block whose moments have `size` bytes each.
        func length(ofTime size: Int) -> Int {
            transitions * (size + 1) + types * 6 + leapSeconds * (size + 4) + lengthAfterTypes
        }

        /// The number of bytes after the types, in a block without leap seconds.
        var lengthAfterTypes: Int { characters + standardMarks + universalMarks }
    }

    mutating func header() -> Header? {
        guard rest.starts(with: Array("TZif".utf8)), skip(4), let version = byte(), skip(15),
            let universal = count(), let standard = count(), let leap = count(),
            let transitions = count(), let types = count(), let characters = count()
        else { return nil }
        return Header(
            version: version, transitions: transitions, types: types, leapSeconds: leap,
            standardMarks: standard, universalMarks: universal, characters: characters)
    }

    /// A number not larger than real files have.
    private mutating func count() -> Int? {
        guard let number = number(4), (0...10_000).contains(number) else { return nil }
        return Int(number)
    }

    mutating func skip(_ count: Int) -> Bool {
        guard rest.count >= count else { return false }
        rest = rest.dropFirst(count)
        return true
    }

    mutating func byte() -> UInt8? { rest.popFirst() }

    /// A signed number of 4 or 8 bytes, highest byte first.
    mutating func number(_ size: Int) -> Int64? {
        guard rest.count >= size else { return nil }
        var number: UInt64 = 0
        for byte in rest.prefix(size) { number = number << 8 | UInt64(byte) }
        rest = rest.dropFirst(size)
        return size == 4
            ? Int64(Int32(truncatingIfNeeded: number)) : Int64(bitPattern: number)
    }

    /// The bytes before the next line end.
    mutating func line() -> ArraySlice<UInt8>? {
        guard let end = rest.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
        defer { rest = rest[(end + 1)...] }
        return rest[..<end]
    }
}

/// The value of the POSIX variable `TZ`, such as `CET-1CEST,M3.5.0,M10.5.0/3`, with times from -167 to 167
/// hours (POSIX.1-2024, XBD 8.3).
private struct PosixZone {
    /// Seconds east of Greenwich.
    private let standard: Int64
    /// Daylight saving time: the offset then, and when it begins and ends; `nil` if there is none.
    private var daylight: (offset: Int64, begin: Change, end: Change)?

    /// A moment of each year, by the clock before the change.
    private struct Change {
        enum Day {
            /// From 1 to 365; 29 February does not count.
            case ordinal(Int64)
            /// From 0 to 365.
            case offset(Int64)
            /// The nth such weekday of the month, counted from Sunday (0); the fifth means the last.
            case weekday(month: Int64, week: Int64, day: Int64)
        }

        let day: Day
        let seconds: Int64

        /// The moment in seconds since 1970 by that clock.
        func moment(in year: Int64) -> Int64 {
            let first = daysSince1970(year, 1, 1)
            switch day {
            case .ordinal(let number):
                let isAfterLeapDay = isLeap(year) && number >= 60
                return (first + number - 1 + (isAfterLeapDay ? 1 : 0)) * 86_400 + seconds
            case .offset(let number): return (first + number) * 86_400 + seconds
            case .weekday(let month, let week, let day):
                let begin = daysSince1970(year, month, 1)
                let next =
                    month == 12 ? daysSince1970(year + 1, 1, 1) : daysSince1970(year, month + 1, 1)
                // 1 January 1970 was a Thursday.
                let weekday = ((begin + 4) % 7 + 7) % 7
                var found = begin + (day - weekday + 7) % 7 + (week - 1) * 7
                while found >= next { found -= 7 }
                return found * 86_400 + seconds
            }
        }
    }

    init?(_ text: ArraySlice<UInt8>) {
        var rest = text
        guard Self.skipName(&rest), let west = Self.time(&rest, hours: 24) else { return nil }
        standard = -west
        guard !rest.isEmpty else { return }
        guard Self.skipName(&rest) else { return nil }
        var offset = standard + 3600
        if let next = rest.first, next != UInt8(ascii: ",") {
            guard let west = Self.time(&rest, hours: 24) else { return nil }
            offset = -west
        }
        guard let begin = Self.change(&rest), let end = Self.change(&rest), rest.isEmpty else {
            return nil
        }
        daylight = (offset, begin, end)
    }

    func offset(at seconds: Int64) -> Int64 {
        guard let daylight else { return standard }
        let year = Int64(CalendarDate(Timestamp(seconds: seconds + standard)).year)
        let begin = daylight.begin.moment(in: year) - standard
        let end = daylight.end.moment(in: year) - daylight.offset
        let isDaylight =
            begin < end ? (begin..<end).contains(seconds) : !(end..<begin).contains(seconds)
        return isDaylight ? daylight.offset : standard
    }

    /// Skips `CET` or `<+03>`.
    private static func skipName(_ rest: inout ArraySlice<UInt8>) -> Bool {
        let before = rest.count
        if rest.first == UInt8(ascii: "<") {
            guard let end = rest.firstIndex(of: UInt8(ascii: ">")) else { return false }
            rest = rest[(end + 1)...]
        } else {
            rest = rest.drop { byte in
                (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
            }
        }
        return before - rest.count >= 3
    }

    /// Reads `2`, `-1:30` or `24:00:00` as seconds.
    private static func time(_ rest: inout ArraySlice<UInt8>, hours most: Int64) -> Int64? {
        let isNegative = rest.first == UInt8(ascii: "-")
        if isNegative || rest.first == UInt8(ascii: "+") { rest = rest.dropFirst() }
        guard let hours = number(&rest), hours <= most else { return nil }
        var seconds = hours * 3600
        for unit: Int64 in [60, 1] where rest.first == UInt8(ascii: ":") {
            rest = rest.dropFirst()
            guard let part = number(&rest), part < 60 else { return nil }
            seconds += part * unit
        }
        return isNegative ? -seconds : seconds
    }

    /// Reads `,M3.5.0/3`.
    private static func change(_ rest: inout ArraySlice<UInt8>) -> Change? {
        guard rest.popFirst() == UInt8(ascii: ","), let day = day(&rest) else { return nil }
        guard rest.first == UInt8(ascii: "/") else { return Change(day: day, seconds: 7200) }
        rest = rest.dropFirst()
        return time(&rest, hours: 167).map { Change(day: day, seconds: $0) }
    }

    private static func day(_ rest: inout ArraySlice<UInt8>) -> Change.Day? {
        switch rest.first {
        case UInt8(ascii: "J"):
            rest = rest.dropFirst()
            guard let number = number(&rest), (1...365).contains(number) else { return nil }
            return .ordinal(number)
        case UInt8(ascii: "M"):
            rest = rest.dropFirst()
            guard let month = number(&rest), rest.popFirst() == UInt8(ascii: "."),
                let week = number(&rest), rest.popFirst() == UInt8(ascii: "."),
                let day = number(&rest), (1...12).contains(month), (1...5).contains(week), day <= 6
            else { return nil }
            return .weekday(month: month, week: week, day: day)
        default:
            guard let number = number(&rest), number <= 365 else { return nil }
            return .offset(number)
        }
    }

    /// One to three digits.
    private static func number(_ rest: inout ArraySlice<UInt8>) -> Int64? {
        let digits = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        guard (1...3).contains(digits.count) else { return nil }
        rest = rest.dropFirst(digits.count)
        return digits.reduce(0) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
    }
}

private func isLeap(_ year: Int64) -> Bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// A moment's date and time of day in UTC, as RFC 3339 writes them.
package struct CalendarDate: Equatable, Sendable {
    package let year: Int
    package let month: Int
    package let day: Int
    package let hour: Int
    package let minute: Int
    package let second: Int
    package let millisecond: Int

    package init(_ moment: Timestamp) {
        var seconds = moment.seconds
        if moment.milliseconds % 1000 < 0 { seconds -= 1 }
        millisecond = Int(((moment.milliseconds % 1000) + 1000) % 1000)
        var days = seconds / 86_400
        if seconds % 86_400 < 0 { days -= 1 }
        let rest = Int(seconds - days * 86_400)
        hour = rest / 3600
        minute = rest / 60 % 60
        second = rest % 60

        // Eras of 400 years that begin on 1 March, so that a leap day is the last day of its year (H.
        // Hinnant, "chrono-compatible low-level date algorithms", civil_from_days).
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        day = Int(dayOfYear - (153 * monthFromMarch + 2) / 5 + 1)
        month = Int(monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9)
        year = Int(yearOfEra + era * 400) + (month <= 2 ? 1 : 0)
    }

    /// `2026-11-21`
    package var dayText: String { "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))" }

    /// `2026-11-21T14:30:00Z`
    package var text: String { "\(secondText)Z" }

    /// `2026-11-21T14:30:00.000Z`
    package var millisecondText: String { "\(secondText).\(padded(millisecond, 3))Z" }

    /// `Sat, 21 Nov 2026 14:30:00 GMT`, as HTTP writes it (RFC 9110 section 5.6.7).
    package var httpText: String {
        // 1 January 1970 was a Thursday.
        let days = daysSince1970(Int64(year), Int64(month), Int64(day))
        let weekday = weekdays[Int((days % 7 + 7) % 7)]
        return
            "\(weekday), \(padded(day, 2)) \(months[month - 1]) \(padded(year, 4)) \(timeText) GMT"
    }

    private var secondText: String { "\(dayText)T\(timeText)" }

    private var timeText: String { "\(padded(hour, 2)):\(padded(minute, 2)):\(padded(second, 2))" }
}

extension Timestamp {
    /// Reads `2026-11-21T14:30:00Z`, with or without milliseconds, as ``CalendarDate`` writes it.
    package init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count == 20 || bytes.count == 24 else { return nil }
        func number(_ range: Range<Int>) -> Int64? {
            bytes[range].reduce(0 as Int64?) { sum, byte in
                guard let sum, (48...57).contains(byte) else { return nil }
                return sum * 10 + Int64(byte - 48)
            }
        }
        guard let year = number(0..<4), let month = number(5..<7), let day = number(8..<10),
            let hour = number(11..<13), let minute = number(14..<16), let second = number(17..<19),
            let millisecond = bytes.count == 24 ? number(20..<23) : 0
        else { return nil }
        let seconds =
            daysSince1970(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second
        self.init(milliseconds: seconds * 1000 + millisecond)
        // An impossible date, such as 30 February, comes back as another one.
        let date = CalendarDate(self)
        guard text == (bytes.count == 24 ? date.millisecondText : date.text) else { return nil }
    }
}

/// The number of a day since 1 January 1970, for years from 1 on: the inverse of ``CalendarDate``.
func daysSince1970(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
    let shifted = month <= 2 ? year - 1 : year
    let yearOfEra = shifted % 400
    let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return shifted / 400 * 146_097 + dayOfEra - 719_468
}

private let weekdays = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]

/// As HTTP names them.
let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

private func padded(_ number: Int, _ width: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
}

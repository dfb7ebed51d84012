import Turnstone

extension Spool {
    /// Before which a notification is not sent.
    package enum Moment: Equatable, Sendable {
        /// Its sender wants it then: `send_after`.
        case requested(Timestamp)
        /// So long it is put off by us: it is due at once where the clock turns out to have been ahead.
        case putOff(until: Timestamp)
    }

    /// Rounds the moment of a requested up, so that few folders serve many wishes: to a whole minute where it is
    /// more than ten minutes ahead and the notification expires more than ten minutes later, else to a whole
    /// second. What expires within that second waits for the exact moment.
    package static func moment(
        for requested: Timestamp, now: Timestamp, expires: Timestamp
    ) -> Timestamp {
        let far = Interval.minutes(10)
        let unit: Int64 = requested - now > far && expires - requested > far ? 60_000 : 1000
        let rounded = Timestamp(
            milliseconds: requested.milliseconds.saturatingAdd(unit - 1) / unit * unit)
        return rounded < expires ? rounded : requested
    }
}

/// A folder in `waiting/`. Its name says until when what is in it waits: `<ms>` where the sender wants that,
/// and `<ms>-<since>` where it was put off, with the minute in which that was.
struct WaitingFolder: Equatable {
    let name: String
    let until: Timestamp
    /// The minute's start, so that few folders serve many notifications.
    let since: Timestamp?

    /// - Returns: `nil` where it is none of the spool's folders.
    init?(name: String) {
        let parts = name.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
            .map { Int64(String(decoding: Array($0), as: UTF8.self)) }
        guard parts.count <= 2, let first = parts[0] else { return nil }
        self.name = name
        until = Timestamp(milliseconds: first)
        since = parts.count == 2 ? parts[1].map { Timestamp(milliseconds: $0) } : nil
        if parts.count == 2, since == nil { return nil }
    }

    /// - Parameter expires: when what is put into it is no longer worth delivering.
    init(_ moment: Spool.Moment, now: Timestamp, expires: Timestamp) {
        switch moment {
        case .requested(let requested):
            until = Spool.moment(for: requested, now: now, expires: expires)
            since = nil
            name = "\(until.milliseconds)"
        case .putOff(let requested):
            let minute = Timestamp(milliseconds: now.milliseconds / 60_000 * 60_000)
            until = Spool.moment(for: requested, now: now, expires: expires)
            since = minute
            name = "\(until.milliseconds)-\(minute.milliseconds)"
        }
    }

    /// Whether what is in it is to be tried. What was put off in the future was put off by a wrong clock, and
    /// nobody knows for how long.
    func isDue(at now: Timestamp) -> Bool {
        until <= now || since.map { $0 > now } ?? false
    }
}

import Turnstone

extension Spool {
    /// The moment before which a notification is not sent.
    package enum Moment: Equatable, Sendable {
        /// The moment that its sender requested: `send_after`.
        case requested(Timestamp)
        /// The moment until which we put it off. It is due at once if the clock turns out to have been ahead.
        case putOff(until: Timestamp)
    }

    /// Rounds a requested moment up, so that few folders serve many notifications: to a whole minute if it is
    /// more than ten minutes ahead and the notification expires more than ten minutes after it, otherwise to
    /// a whole second. A notification that expires before the rounded moment waits for the exact one.
    @export(interface)
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

/// A folder in `waiting/`. Its name says until when its notifications wait: `<ms>` if their senders requested
/// that moment, or `<ms>-<since>` if they were put off, with the minute in which that happened.
struct WaitingFolder: Equatable {
    let name: String
    let until: Timestamp
    /// The start of that minute, so that few folders serve many notifications.
    let since: Timestamp?

    /// - Returns: `nil` if the name is not that of such a folder.
    init?(name: String) {
        let parts = name.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
            .map { Int64(String(decoding: Array($0), as: UTF8.self)) }
        guard parts.count <= 2, let first = parts[0] else { return nil }
        self.name = name
        until = Timestamp(milliseconds: first)
        since = parts.count == 2 ? parts[1].map { Timestamp(milliseconds: $0) } : nil
        if parts.count == 2, since == nil { return nil }
    }

    /// - Parameter expires: the expiration of the notification to put into it.
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

    /// Whether its notifications are due. If they were put off at a time in the future, the clock was wrong,
    /// and nobody knows for how long.
    func isDue(at now: Timestamp) -> Bool {
        until <= now || since.map { $0 > now } ?? false
    }
}

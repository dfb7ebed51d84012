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
        let unit: Interval =
            requested - now > far && expires - requested > far ? .minutes(1) : .seconds(1)
        let rounded = (requested + .milliseconds(unit.milliseconds - 1)).floor(to: unit)
        return rounded < expires ? rounded : requested
    }
}

/// A folder in `waiting/` or `held/`. Its name says until when its notifications wait: `<ms>` if their
/// senders requested that moment, `<ms>-<since>` if they were put off, with the minute in which that
/// happened, or `<ms>-<since>-<deadline>` if they are looked at earlier than planned.
struct WaitingFolder: Equatable {
    let name: String
    let until: Timestamp
    /// The start of that minute, so that few folders serve many notifications.
    let since: Timestamp?
    /// When its boxes had to be looked at before they were made due early; `nil` for any other folder.
    let deadline: Timestamp?

    /// - Returns: `nil` if the name is not that of such a folder.
    init?(name: String) {
        let parts = name.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
            .compactMap { Int64(String(decoding: Array($0), as: UTF8.self)) }
            .map { Timestamp(milliseconds: $0) }
        let dashes = name.utf8.count { $0 == UInt8(ascii: "-") }
        guard (1...3).contains(parts.count), dashes == parts.count - 1 else { return nil }
        self.name = name
        until = parts[0]
        since = parts.count > 1 ? parts[1] : nil
        deadline = parts.count > 2 ? parts[2] : nil
    }

    /// A folder for boxes that are due now instead of at a later moment.
    ///
    /// Named as if they had been put off until now: from the name, `health` sees how long they have been due.
    init(dueAt now: Timestamp, insteadOf deadline: Timestamp) {
        let minute = now.floor(to: .minutes(1))
        until = now
        since = minute
        self.deadline = deadline
        name = "\(now.milliseconds)-\(minute.milliseconds)-\(deadline.milliseconds)"
    }

    /// - Parameter expires: the expiration of the notification to put into it.
    init(_ moment: Spool.Moment, now: Timestamp, expires: Timestamp) {
        switch moment {
        case .requested(let requested):
            until = Spool.moment(for: requested, now: now, expires: expires)
            since = nil
            deadline = nil
            name = "\(until.milliseconds)"
        case .putOff(let requested):
            let minute = now.floor(to: .minutes(1))
            until = Spool.moment(for: requested, now: now, expires: expires)
            since = minute
            deadline = nil
            name = "\(until.milliseconds)-\(minute.milliseconds)"
        }
    }

    /// When its notifications are due: not later than now if the clock was wrong when they were put off.
    func due(at now: Timestamp) -> Timestamp { isDue(at: now) ? min(until, now) : until }

    /// Whether its notifications are due. If they were put off at a time in the future, the clock was wrong,
    /// and nobody knows for how long.
    func isDue(at now: Timestamp) -> Bool {
        until <= now || since.map { $0 > now } ?? false
    }
}

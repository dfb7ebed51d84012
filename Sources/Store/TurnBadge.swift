import Turnstone

/// How many games wait for a player, and the push that corrects icons which show another number.
package struct TurnBadge: Equatable {
    /// How many games wait according to the newest look.
    package var waiting: Int64 = 0
    /// The id of the notification that corrects the number; it may already be done.
    package var correction: String?
    /// When it is due.
    package var correctionDue: Timestamp?

    /// The shortest time between two corrections of one player's badge.
    package static let pause = Interval.minutes(15)

    init() {}

    init(_ members: JSONObject) {
        waiting = members["waiting"]?.count ?? 0
        correction = members["correction"]?.string
        correctionDue = members["correction_due"]?.timestamp
    }

    var members: JSONObject {
        var members: JSONObject = ["waiting": .integer(waiting)]
        members["correction"] = correction.map { .string($0) }
        members["correction_due"] = correctionDue.map { JSONValue($0) }
        return members
    }

    /// When the next correction may be sent: now, or ``pause`` after the last one.
    package func nextCorrection(at now: Timestamp) -> Timestamp {
        guard let last = correctionDue else { return now }
        // A clock that was wrong must not delay corrections for long.
        return min(max(now, last + Self.pause), now + Self.pause)
    }
}

import Turnstone
import Unix

/// How much one run of a sweep may still do.
struct SweepBudget {
    /// How many users' documents it may read.
    var users: Int
    /// Removing a file and writing a user take milliseconds each, and players wait for the end of the run. The
    /// rest is done in a later run.
    let end: Instant

    init(users: Int, time: Interval) {
        self.users = users
        end = .now + time
    }

    var isTimeOver: Bool { Instant.now >= end }

    mutating func take() -> Bool {
        guard users > 0, !isTimeOver else { return false }
        users -= 1
        return true
    }
}

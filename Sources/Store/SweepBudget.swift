import Turnstone
import Unix

/// How much one run of a sweep may still do.
struct SweepBudget {
    /// How many users' documents it may read.
    var users: Int
    /// Writing a user takes some milliseconds. The rest is done in a later run.
    var end = Instant.now + .milliseconds(5_000)

    mutating func take() -> Bool {
        guard users > 0, Instant.now < end else { return false }
        users -= 1
        return true
    }
}

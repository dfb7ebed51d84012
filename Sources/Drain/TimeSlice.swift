import Turnstone
import Unix

/// A share of a turn of the loop. Work that goes on for one user ends with its slice and is continued in the
/// next turn, so that another user's push waits for a few slices at most.
struct TimeSlice {
    private let end = Instant.now + .milliseconds(10)

    var isOver: Bool { Instant.now >= end }
}

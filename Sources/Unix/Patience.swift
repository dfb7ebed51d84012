import Turnstone

/// Looks at a file that another machine may just be replacing: again after 0, 1, 3, 7, 15, 31 and 63 ms, 0.12
/// s in all.
package struct Patience {
    private var next = Interval.milliseconds(0)

    package init() {}

    /// Waits for the next look.
    ///
    /// - Returns: `false`, at once, if there have been enough.
    package mutating func wait() -> Bool {
        guard next < .milliseconds(100) else { return false }
        sleep(for: next)
        next = next + next + .milliseconds(1)
        return true
    }
}

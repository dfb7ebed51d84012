import JSON
import Turnstone
import Unix

/// A drainer that holds the election and gives no sign of life.
package struct StuckDrainer: Equatable, Sendable {
    package let process: Int
    package let since: Timestamp

    /// The longest time one step of a drainer may take: it waits for locks, and for a slow disk.
    package static let patience = Interval.seconds(60)
}

import Turnstone

/// A drainer that holds the election but gives no sign of life.
package struct StuckDrainer: Equatable, Sendable {
    package let process: Int
    /// The machine that it runs on, if it is another one.
    package let host: String?
    package let since: Timestamp

    /// The longest time that one step of a drainer may take, including waits for locks and a slow disk.
    package static let patience = Interval.seconds(60)
}

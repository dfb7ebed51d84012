import Turnstone
import Unix

/// The time, configuration and log of a scheduled program.
package struct Schedule {
    package let time: Timestamp
    package let variables: Variables
    package let log: Log

    /// The present time. Like ``time`` it stands still if a test has stopped the clock.
    package var now: Timestamp { variables.text("TURNSTONE_NOW") == nil ? .systemNow : time }
}

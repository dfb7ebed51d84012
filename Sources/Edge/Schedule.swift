import Turnstone

/// The time, configuration and log of a scheduled program.
package struct Schedule {
    package let time: Timestamp
    package let variables: Variables
    package let log: Log
}

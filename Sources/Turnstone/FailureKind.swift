/// How long the cause of a failed push may last. Failures of one kind do not lengthen the pauses after the
/// other.
package enum FailureKind: String, CaseIterable, Sendable {
    /// No answer, or one that asks for a pause of less than a minute, such as 429. It may be over in a
    /// second.
    case brief
    /// The service is out of order, or asks for a longer pause.
    case lasting

    /// - Parameter pause: the pause after the first failure.
    package init(pause: Interval) { self = pause < .minutes(1) ? .brief : .lasting }

    /// The longest pause, however many failures there were.
    package var longestPause: Interval { self == .brief ? .minutes(15) : .hours(6) }
}

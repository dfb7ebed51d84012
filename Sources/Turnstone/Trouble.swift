/// How long what makes a push fail may last. What one kind has cost says nothing of the other.
package enum Trouble: String, CaseIterable, Sendable {
    /// No answer, or one that asks for less than a minute, such as 429: it may be over in a second.
    case brief
    /// The service is out of order, or asks for a longer pause.
    case lasting

    /// - Parameter pause: after the first failure.
    package init(pause: Interval) { self = pause < .minutes(1) ? .brief : .lasting }

    /// No pause is longer, however many failures there were.
    package var longestPause: Interval { self == .brief ? .minutes(15) : .hours(6) }
}

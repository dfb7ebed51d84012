import Turnstone

/// A client's time limits, and the largest body that it keeps.
package struct ClientLimits: Sendable {
    /// For establishing the connection, with all its handshakes.
    package var connect = Interval.seconds(10)
    /// From a request's submission to its answer.
    package var request = Interval.seconds(30)
    /// How long the server may be silent while it owes answers. Then a PING is sent.
    package var silence = Interval.seconds(10)
    /// The same while it owes no answers.
    package var idleness = Interval.hours(1)
    /// For the answer to the PING.
    package var ping = Interval.seconds(5)
    /// The number of bytes of an answer's body that are kept. The rest is dropped.
    package var answerBody = 16_384

    package init() {}
}

import Turnstone

/// What became of a request.
///
/// `tag` is what the request was submitted with.
package enum ClientEvent: Equatable, Sendable {
    case answered(tag: Int, Answer)
    /// The server certainly has not processed the request (RFC 9113 section 8.7).
    case refused(tag: Int)
    /// Nobody knows whether the server has processed it: the stream or the connection broke, or the time
    /// was over. Why, in a few words.
    case lost(tag: Int, reason: String)

    package struct Answer: Equatable, Sendable {
        package internal(set) var status: Int
        package internal(set) var fields: HeaderFields
        /// As much of it as ``ClientLimits/answerBody`` allows.
        package internal(set) var body: [UInt8]
    }
}

/// How long a client waits, and for how much.
package struct ClientLimits: Sendable {
    /// For the connection with all its handshakes.
    package var connect = Interval.seconds(10)
    /// From a request's submission to its answer.
    package var request = Interval.seconds(30)
    /// How long the server may be silent, while it owes answers, before it is asked for a sign of life.
    package var silence = Interval.seconds(10)
    /// The same while it owes none.
    package var idleness = Interval.hours(1)
    /// For the sign of life.
    package var ping = Interval.seconds(5)
    /// Bytes of an answer's body that are kept; what follows is dropped.
    package var answerBody = 16_384

    package init() {}
}

/// The server's word that it takes no more requests on this connection.
package struct GoAway: Equatable, Sendable {
    /// RFC 9113 section 7; 0 is no error.
    package let code: UInt32
    /// What the server adds in its own form; APNs writes JSON with a reason.
    ///
    /// At most 1 KiB of it.
    package let debugData: [UInt8]
}

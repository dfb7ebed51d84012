/// The outcome of a request. `tag` is the one that it was submitted with.
package enum ClientEvent: Equatable, Sendable {
    case answered(tag: Int, Answer)
    /// The server has certainly not processed the request (RFC 9113 section 8.7).
    case refused(tag: Int)
    /// The server may or may not have processed the request: the stream or the connection broke, or the time
    /// was up. The reason is a few words.
    case lost(tag: Int, reason: String)

    package struct Answer: Equatable, Sendable {
        package internal(set) var status: Int
        package internal(set) var fields: HeaderFields
        /// The body's beginning, up to ``ClientLimits/answerBody``.
        package internal(set) var body: [UInt8]
    }
}

import HTTP2

/// A client's request.
package struct ServerRequest: Sendable {
    /// The number of its stream, needed to answer it (RFC 9113 section 5.1.1).
    package internal(set) var stream: Int32
    package internal(set) var fields: HeaderFields
    /// The body's beginning, up to ``ServerLimits/requestBody`` bytes.
    package internal(set) var body: [UInt8]
    /// The length of the body that has arrived, in bytes.
    package internal(set) var bodyLength = 0
    /// Whether the whole body has arrived.
    package internal(set) var isComplete = false
}

import HTTP2

/// A request that a client made.
package struct ServerRequest: Sendable {
    /// The stream's number, by which it is answered (RFC 9113 section 5.1.1).
    package internal(set) var stream: Int32
    package internal(set) var fields: HeaderFields
    /// At most ``ServerLimits/requestBody`` bytes of it.
    package internal(set) var body: [UInt8]
    /// The body's whole length, as far as it came.
    package internal(set) var bodyLength = 0
    /// Whether the body has come to its end.
    package internal(set) var isComplete = false
}

/// What a server allows its clients.
package struct ServerLimits: Sendable {
    /// How many requests a client may have open when it connects.
    package var streams: UInt32 = 100
    /// Bytes of a request's body that are kept; what follows is counted and dropped.
    package var requestBody = 1 << 20

    package init() {}
}

/// What a server says to one request.
package struct ServerAnswer: Sendable {
    package var fields: HeaderFields
    package var body: [UInt8]
    /// Ends the stream with this code (RFC 9113 section 7) after the body's bytes, as if more were to come.
    package var brokenOffWith: UInt32?

    /// - Parameter fields: `:status` first.
    package init(_ fields: HeaderFields, body: [UInt8] = []) {
        self.fields = fields
        self.body = body
    }

    package init(status: Int, _ more: [(String, String)] = [], body: [UInt8] = []) {
        fields = HeaderFields()
        fields.append(":status", String(status))
        for (name, value) in more { fields.append(name, value) }
        self.body = body
    }
}

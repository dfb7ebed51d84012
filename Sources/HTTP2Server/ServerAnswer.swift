import HTTP2

/// A server's answer to one request.
package struct ServerAnswer: Sendable {
    package var fields: HeaderFields
    package var body: [UInt8]
    /// If set, the stream is reset with this error code (RFC 9113 section 7) after the body's bytes, as if
    /// more had been to come.
    package var resetCode: UInt32?

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

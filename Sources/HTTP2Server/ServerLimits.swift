/// The limits that a server sets its clients.
package struct ServerLimits: Sendable {
    /// The number of requests that a client may have open when it connects.
    package var streams: UInt32 = 100
    /// The number of bytes of bodies that a client may have under way on a connection, and in each request;
    /// `nil` for HTTP/2's standard, 65,535 (RFC 9113 section 6.9.2).
    package var window: Int32?
    /// The number of bytes of a request's body that are kept. The rest is counted and dropped.
    package var requestBody = 1 << 20

    package init() {}
}

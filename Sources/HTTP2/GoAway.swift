/// The server's announcement that it takes no more requests on this connection.
package struct GoAway: Equatable, Sendable {
    /// The error code (RFC 9113 section 7); 0 means no error.
    package let code: UInt32
    /// Additional data in the server's own format, at most 1 KiB. APNs sends JSON with a reason.
    package let debugData: [UInt8]
}

/// The result of an attempt to read or write bytes.
package enum TLSResult: Equatable, Sendable {
    /// The number of bytes that were moved, at least one.
    case moved(Int)
    /// Try again when the socket is readable.
    case wantsRead
    /// Try again when the socket is writable.
    case wantsWrite
    /// The peer ended the connection.
    case closed
    /// The connection broke or was never made; the reason, in a few words.
    case failed(String)
}

import COpenSSL
import HTTP2
import Turnstone
import Unix

extension TLSStream {
    /// The server's end of a connection that a client has made.
    package static func accepted(
        _ socket: consuming Socket, _ context: TLSContext
    ) throws(Failure) -> TLSStream {
        let stream = try TLSStream(socket, context)
        SSL_set_accept_state(stream.session)
        return stream
    }

    // Deliberate faults:

    /// Makes the connection end with a TCP reset.
    func resetOnClose() { socket.resetOnClose() }

    /// Sends bytes that are not TLS.
    func sendPlaintext(_ bytes: [UInt8]) { socket.send(bytes) }

    /// Reads and discards all bytes that have arrived: with unread bytes, closing would send a TCP reset.
    func discardInput() { socket.discardInput() }
}

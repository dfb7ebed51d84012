import COpenSSL
import HTTP2
import Turnstone
import Unix

extension TLSStream {
    /// A connection that a client made.
    package static func accepted(
        _ socket: consuming Socket, _ context: TLSContext
    ) throws(Failure) -> TLSStream {
        let stream = try TLSStream(socket, context)
        SSL_set_accept_state(stream.session)
        return stream
    }

    // Faults that a server is told to make:

    /// Lets the connection end with a TCP reset.
    func resetAtEnd() { socket.resetAtEnd() }

    /// Answers with bytes that are not TLS.
    func speakPlainly(_ bytes: [UInt8]) { socket.send(bytes) }

    /// Reads all that has come, unseen: with unread bytes the end would be a TCP reset.
    func discardInput() { socket.discardInput() }
}

import HTTP2

/// A fault that a server makes on purpose while a connection is established.
package enum HandshakeFault: String, Sendable {
    /// Closes the TCP connection instead of answering.
    case close
    /// Resets the TCP connection instead of answering.
    case reset
    /// Answers in plain text instead of TLS.
    case garble
    /// Closes the TCP connection after its first answer. With TLS 1.3, the client then believes that the
    /// handshake is complete.
    case cut
}

extension ServerConnection {
    /// Makes the fault, after the client's first bytes have arrived.
    func failHandshake(_ fault: HandshakeFault, _ stream: borrowing TLSStream) {
        switch fault {
        case .close: stream.discardInput()
        case .reset: stream.resetOnClose()
        case .garble:
            stream.discardInput()
            stream.sendPlaintext(Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8))
        case .cut: _ = stream.handshake()
        }
    }
}

import HTTP2

/// What a server does wrong on purpose while a connection is being made.
package enum HandshakeFault: String, Sendable {
    /// Ends the TCP connection instead of a first answer.
    case close
    /// Resets the TCP connection instead of a first answer.
    case reset
    /// Answers what is no TLS.
    case garble
    /// Ends the TCP connection after its first answer. With TLS 1.3 a client takes the handshake for complete.
    case cut
}

extension ServerConnection {
    /// Carries out the fault, now that the client's first bytes have come.
    func failHandshake(_ fault: HandshakeFault, _ stream: borrowing TLSStream) {
        switch fault {
        case .close: stream.discardInput()
        case .reset: stream.resetAtEnd()
        case .garble:
            stream.discardInput()
            stream.speakPlainly(Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8))
        case .cut: _ = stream.handshake()
        }
    }
}

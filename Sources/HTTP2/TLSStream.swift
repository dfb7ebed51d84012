import COpenSSL
import Turnstone
import Unix

/// One TLS connection over a socket that never blocks.
package struct TLSStream: ~Copyable {
    package let session: OpaquePointer
    package let socket: Socket

    /// The descriptor, for ``PollSet``. The caller keeps the stream alive while it waits.
    package var number: Int32 { socket.number }

    /// Why the TCP connection could not be made.
    package var fault: Errno? { socket.fault }

    /// Starts a connection to `host`, whose certificate must have that name or address.
    package static func connecting(
        _ socket: consuming Socket, to host: String, _ context: TLSContext
    ) throws(Failure) -> TLSStream {
        let stream = try TLSStream(socket, context)
        SSL_set_connect_state(stream.session)
        if X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(stream.session), host) == 1 {
            return stream
        }
        ERR_clear_error()  // not an address but a name, which the server must be told
        var name = Array(host.utf8CString)
        let type = Int(TLSEXT_NAMETYPE_host_name)
        guard SSL_set1_host(stream.session, host) == 1,
            SSL_ctrl(stream.session, SSL_CTRL_SET_TLSEXT_HOSTNAME, type, &name) == 1
        else { throw tlsFailure("connect to \(host)") }
        return stream
    }

    package init(_ socket: consuming Socket, _ context: TLSContext) throws(Failure) {
        defer { withExtendedLifetime(context) {} }
        guard let session = SSL_new(context.context) else { throw tlsFailure("set up TLS") }
        guard SSL_set_fd(session, socket.number) == 1 else {
            SSL_free(session)
            throw tlsFailure("set up TLS")
        }
        self.session = session
        self.socket = socket
    }

    deinit { SSL_free(session) }

    /// Continues the handshake.
    ///
    /// - Returns: ``TLSResult/moved(_:)`` when it is complete, the peer's identity is verified, and both
    ///   sides speak HTTP/2.
    package func handshake() -> TLSResult {
        defer { withExtendedLifetime(self) {} }
        ERR_clear_error()
        let code = SSL_do_handshake(session)
        guard code == 1 else { return explain(code) }
        var name: UnsafePointer<UInt8>?
        var length: UInt32 = 0
        SSL_get0_alpn_selected(session, &name, &length)
        guard length == 2, name?[0] == UInt8(ascii: "h"), name?[1] == UInt8(ascii: "2") else {
            return .failed("the peer does not speak HTTP/2")
        }
        return .moved(1)
    }

    /// Reads at most one TLS record, 16 KiB.
    package func read(into buffer: UnsafeMutableRawBufferPointer) -> TLSResult {
        defer { withExtendedLifetime(self) {} }
        ERR_clear_error()
        let code = SSL_read(session, buffer.baseAddress, Int32(clamping: buffer.count))
        return code > 0 ? .moved(Int(code)) : explain(code)
    }

    /// Whether bytes have arrived that poll(2) does not report, because OpenSSL has read them already.
    package var hasBuffered: Bool {
        defer { withExtendedLifetime(self) {} }
        return SSL_has_pending(session) == 1
    }

    /// Writes as much as the socket takes.
    package func write(_ bytes: UnsafeRawBufferPointer) -> TLSResult {
        defer { withExtendedLifetime(self) {} }
        ERR_clear_error()
        let code = SSL_write(session, bytes.baseAddress, Int32(clamping: bytes.count))
        return code > 0 ? .moved(Int(code)) : explain(code)
    }

    /// Tells the peer that no more bytes follow. Does not wait for its answer.
    package func shutDown() {
        defer { withExtendedLifetime(self) {} }
        SSL_shutdown(session)
        ERR_clear_error()
    }

    private func explain(_ code: Int32) -> TLSResult {
        defer { withExtendedLifetime(self) {} }
        let errno = Errno.current
        switch SSL_get_error(session, code) {
        case SSL_ERROR_WANT_READ: return .wantsRead
        case SSL_ERROR_WANT_WRITE: return .wantsWrite
        case SSL_ERROR_ZERO_RETURN: return .closed
        case SSL_ERROR_SYSCALL:
            ERR_clear_error()
            return errno.rawValue == 0 ? .closed : .failed(errno.name)
        default:
            let verdict = SSL_get_verify_result(session)
            if verdict != X509_V_OK {
                ERR_clear_error()
                return .failed(String(cString: X509_verify_cert_error_string(Int(verdict))))
            }
            return .failed(tlsReason())
        }
    }
}

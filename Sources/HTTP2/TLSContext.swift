import COpenSSL
import Turnstone
import Unix

/// What all TLS connections of one kind share: TLS 1.2 or newer, and HTTP/2 agreed on by ALPN (RFC 7301).
package final class TLSContext {
    package let context: OpaquePointer

    package init(_ method: OpaquePointer?) throws(Failure) {
        guard let context = SSL_CTX_new(method) else { throw tlsFailure("set up TLS") }
        self.context = context
        ThisProcess.ignoreBrokenPipes()
        SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(TLS1_2_VERSION), nil)
        // Partial writes let one buffer of frames be written in turns, as far as the socket takes them.
        let mode = SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER
        SSL_CTX_ctrl(context, SSL_CTRL_MODE, Int(mode), nil)
        // One read(2) for several records.
        SSL_CTX_ctrl(context, SSL_CTRL_SET_READ_AHEAD, 1, nil)
        SSL_CTX_set_default_read_buffer_len(context, 65_536)
    }

    deinit { SSL_CTX_free(context) }

    /// For connections that verify the peer's certificate and its name.
    ///
    /// - Parameter authorities: a file of certificates in PEM form that are trusted, and no others; `nil`
    ///   trusts the system's, which are looked up one by one in their folder: reading the whole bundle
    ///   costs 16 ms.
    package static func client(authorities: String? = nil) throws(Failure) -> TLSContext {
        let made = try TLSContext(TLS_client_method())
        defer { withExtendedLifetime(made) {} }
        SSL_CTX_set_verify(made.context, SSL_VERIFY_PEER, nil)
        if let authorities {
            // Before OpenSSL reads it: it would wait for a FIFO.
            do throws(SystemError) { _ = try Files.isReadable(authorities) } catch {
                throw .misconfigured(
                    "unable to read certificates from \(authorities): "
                        + error.errno.reasonForFile)
            }
        }
        let trusted =
            if let authorities {
                SSL_CTX_load_verify_file(made.context, authorities)
            } else {
                SSL_CTX_set_default_verify_dir(made.context)
            }
        guard trusted == 1 else {
            throw tlsFailure("read certificates from \(authorities ?? "the system's folder")")
        }
        guard SSL_CTX_set_alpn_protos(made.context, h2, UInt32(h2.count)) == 0 else {
            throw tlsFailure("offer HTTP/2")
        }
        return made
    }
}

/// HTTP/2's name in ALPN, after its length.
package let h2: [UInt8] = [2, UInt8(ascii: "h"), UInt8(ascii: "2")]

/// Empties OpenSSL's queue of errors into a failure.
package func tlsFailure(_ action: String) -> Failure {
    .misconfigured("unable to \(action): \(tlsReason())")
}

/// The innermost of the errors that OpenSSL has queued, and none stays there.
package func tlsReason() -> String {
    let code = ERR_get_error()
    ERR_clear_error()
    guard code != 0, let text = ERR_reason_error_string(code) else { return "TLS error" }
    return String(cString: text)
}

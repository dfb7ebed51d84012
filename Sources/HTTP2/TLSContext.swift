import COpenSSL
import Turnstone
import Unix

/// The settings that TLS connections of one kind share: TLS 1.2 or newer, and HTTP/2 by ALPN (RFC 7301).
package final class TLSContext {
    package let context: OpaquePointer

    package init(_ method: OpaquePointer?) throws(Failure) {
        guard let context = SSL_CTX_new(method) else { throw tlsFailure("set up TLS") }
        self.context = context
        ThisProcess.ignoreBrokenPipes()
        SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(TLS1_2_VERSION), nil)
        // With partial writes, a buffer of frames can be written piece by piece, as the socket takes them.
        let mode = SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER
        SSL_CTX_ctrl(context, SSL_CTRL_MODE, Int(mode), nil)
        // One read(2) can fetch several records.
        SSL_CTX_ctrl(context, SSL_CTRL_SET_READ_AHEAD, 1, nil)
        SSL_CTX_set_default_read_buffer_len(context, 65_536)
    }

    deinit { SSL_CTX_free(context) }

    /// Makes a context for clients, which verify the server's certificate and name.
    ///
    /// - Parameter authorities: a PEM file with the only certificates to trust. `nil` trusts the system's,
    ///   which are looked up one by one in their folder: reading the whole bundle takes 16 ms.
    package static func client(authorities: String? = nil) throws(Failure) -> TLSContext {
        let made = try TLSContext(TLS_client_method())
        defer { withExtendedLifetime(made) {} }
        SSL_CTX_set_verify(made.context, SSL_VERIFY_PEER, nil)
        if let authorities {
            // Check before OpenSSL reads it, which would wait for a FIFO.
            do throws(SystemError) { _ = try Files.checkOperatorFile(authorities) } catch {
                throw .misconfigured(
                    "unable to read certificates from \(authorities): "
                        + error.reasonForFile)
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

/// HTTP/2's name in ALPN, preceded by its length.
package let h2: [UInt8] = [2, UInt8(ascii: "h"), UInt8(ascii: "2")]

/// Makes a failure of OpenSSL's oldest error, and empties its error queue.
package func tlsFailure(_ action: String) -> Failure {
    .misconfigured("unable to \(action): \(tlsReason())")
}

/// The reason of OpenSSL's oldest queued error; empties the queue.
package func tlsReason() -> String {
    let code = ERR_get_error()
    ERR_clear_error()
    guard code != 0, let text = ERR_reason_error_string(code) else { return "TLS error" }
    return String(cString: text)
}

import COpenSSL
import HTTP2
import Turnstone

extension TLSContext {
    /// Makes a context for accepted connections.
    ///
    /// - Parameters:
    ///   - certificate: a PEM file with our certificate, followed by those above it.
    ///   - key: a PEM file with the certificate's key.
    package static func server(certificate: String, key: String) throws(Failure) -> TLSContext {
        let made = try TLSContext(TLS_server_method())
        defer { withExtendedLifetime(made) {} }
        guard SSL_CTX_use_certificate_chain_file(made.context, certificate) == 1,
            SSL_CTX_use_PrivateKey_file(made.context, key, SSL_FILETYPE_PEM) == 1
        else { throw tlsFailure("use the certificate \(certificate)") }
        SSL_CTX_set_alpn_select_cb(
            made.context,
            { _, chosen, length, offered, count, _ in
                var rest = UnsafeBufferPointer(start: offered, count: Int(count))[...]
                // Each name is preceded by its length.
                while let size = rest.popFirst(), rest.count >= Int(size) {
                    let name = rest.prefix(Int(size))
                    if name.elementsEqual(h2[1...]) {
                        chosen?.pointee = UnsafePointer(offered! + name.startIndex)
                        length?.pointee = size
                        return SSL_TLSEXT_ERR_OK
                    }
                    rest = rest.dropFirst(Int(size))
                }
                return SSL_TLSEXT_ERR_ALERT_FATAL
            }, nil)
        return made
    }
}

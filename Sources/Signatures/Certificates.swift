import COpenSSL
import Turnstone

/// Certificates in PEM form (RFC 7468 section 5).
package enum Certificates {
    /// Counts the certificates before the first entry that is not one. C: `PEM_read_bio_X509(3)`.
    @export(interface)
    package static func count(inPEM pem: [UInt8]) -> Int {
        guard let input = BIO_new_mem_buf(pem, Int32(clamping: pem.count)) else { return 0 }
        defer { BIO_free(input) }
        var count = 0
        while let certificate = PEM_read_bio_X509(input, nil, nil, nil) {
            X509_free(certificate)
            count += 1
        }
        ERR_clear_error()
        return count
    }
}

import COpenSSL
import HTTP2
import Turnstone

/// A private certificate authority and the certificate of one server, for use on loopback. Each part is PEM
/// text.
package struct ServerCertificate {
    /// The authority's certificate, which clients must trust.
    package let authority: [UInt8]
    /// The server's certificate, for localhost and 127.0.0.1.
    package let certificate: [UInt8]
    /// The server's key. The authority's key is not kept.
    package let key: [UInt8]

    /// Makes new keys and certificates, valid for ten years.
    package init() throws(Failure) {
        let authorityKey = try CurveKey()
        let serverKey = try CurveKey()
        let authority = try Certificate(of: authorityKey, name: "Turnstone simulator authority")
        try authority.add(NID_basic_constraints, "critical,CA:TRUE")
        try authority.add(NID_key_usage, "critical,keyCertSign")
        try authority.add(NID_subject_key_identifier, "hash")
        try authority.sign(by: authority, authorityKey)
        let server = try Certificate(of: serverKey, name: "Turnstone simulator")
        try server.add(NID_basic_constraints, "critical,CA:FALSE")
        try server.add(NID_ext_key_usage, "serverAuth")
        try server.add(NID_subject_alt_name, "DNS:localhost,DNS:*.push.localhost,IP:127.0.0.1")
        try server.sign(by: authority, authorityKey)
        self.authority = authority.pem
        certificate = server.pem
        key = serverKey.pem
    }
}

/// A key pair on P-256.
private final class CurveKey {
    let key: OpaquePointer

    init() throws(Failure) {
        guard let key = EVP_PKEY_new(), let curve = EC_KEY_new_by_curve_name(NID_X9_62_prime256v1)
        else { throw tlsFailure("make a key") }
        self.key = key
        guard EC_KEY_generate_key(curve) == 1,
            EVP_PKEY_assign(key, EVP_PKEY_EC, UnsafeMutableRawPointer(curve)) == 1
        else { throw tlsFailure("make a key") }
    }

    deinit { EVP_PKEY_free(key) }

    var pem: [UInt8] {
        defer { withExtendedLifetime(self) {} }
        return written { PEM_write_bio_PKCS8PrivateKey($0, key, nil, nil, 0, nil, nil) }
    }
}

/// An X.509 certificate under construction.
private final class Certificate {
    private let certificate: OpaquePointer
    private static let lifetime = 3650 * 86_400

    init(of key: CurveKey, name: String) throws(Failure) {
        defer { withExtendedLifetime(key) {} }
        guard let certificate = X509_new() else { throw tlsFailure("make a certificate") }
        self.certificate = certificate
        var serial: UInt64 = 0
        withUnsafeMutableBytes(of: &serial) { _ = RAND_bytes($0.baseAddress, 7) }
        let subject = X509_get_subject_name(certificate)
        let utf8 = Array(name.utf8)
        // Valid from a day ago: a client's clock may be behind ours.
        guard X509_set_version(certificate, 2) == 1,
            ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), serial) == 1,
            X509_gmtime_adj(X509_getm_notBefore(certificate), -86_400) != nil,
            X509_gmtime_adj(X509_getm_notAfter(certificate), Self.lifetime) != nil,
            X509_set_pubkey(certificate, key.key) == 1,
            X509_NAME_add_entry_by_NID(
                subject, NID_commonName, MBSTRING_UTF8, utf8, Int32(utf8.count), -1, 0) == 1
        else { throw tlsFailure("make a certificate") }
    }

    deinit { X509_free(certificate) }

    /// Adds an extension, written as in x509v3_config(5).
    func add(_ kind: Int32, _ value: String) throws(Failure) {
        defer { withExtendedLifetime(self) {} }
        var context = X509V3_CTX()
        X509V3_set_ctx(&context, certificate, certificate, nil, nil, 0)
        guard let made = X509V3_EXT_conf_nid(nil, &context, kind, value) else {
            throw tlsFailure("make a certificate")
        }
        defer { X509_EXTENSION_free(made) }
        guard X509_add_ext(certificate, made, -1) == 1 else {
            throw tlsFailure("make a certificate")
        }
    }

    func sign(by issuer: Certificate, _ key: CurveKey) throws(Failure) {
        defer { withExtendedLifetime((self, issuer, key)) {} }
        let name = X509_get_subject_name(issuer.certificate)
        guard X509_set_issuer_name(certificate, name) == 1,
            X509_sign(certificate, key.key, EVP_sha256()) > 0
        else { throw tlsFailure("sign a certificate") }
    }

    var pem: [UInt8] {
        defer { withExtendedLifetime(self) {} }
        return written { PEM_write_bio_X509($0, certificate) }
    }
}

/// MBSTRING_UTF8 is a macro that is not imported.
private let MBSTRING_UTF8: Int32 = 0x1000

private func written(_ write: (OpaquePointer) -> Int32) -> [UInt8] {
    guard let sink = BIO_new(BIO_s_mem()) else { return [] }
    defer { BIO_free(sink) }
    guard write(sink) == 1 else { return [] }
    let length = BIO_ctrl_pending(sink)
    return [UInt8](unsafeUninitializedCapacity: length) { buffer, count in
        count = Int(max(0, BIO_read(sink, buffer.baseAddress, Int32(length))))
    }
}

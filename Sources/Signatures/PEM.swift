import COpenSSL
import Turnstone

let outOfMemory = Failure(
    .later(seconds: 5), "unable to make a key: OpenSSL has no memory", cause: "ENOMEM")

func unusableKey(_ reason: String) -> Failure {
    .misconfigured("unable to use the key: \(reason)")
}

/// Refuses to give a password. Without this callback OpenSSL would ask for one at the terminal.
func noPassword(
    _: UnsafeMutablePointer<CChar>?, _: Int32, _: Int32, _: UnsafeMutableRawPointer?
) -> Int32 { -1 }

func readPEM(
    _ text: [UInt8], _ read: (OpaquePointer) -> OpaquePointer?
) -> OpaquePointer? {
    text.withUnsafeBytes { bytes in
        guard let source = BIO_new_mem_buf(bytes.baseAddress, Int32(bytes.count)) else {
            return nil
        }
        defer {
            BIO_free(source)
            ERR_clear_error()
        }
        return read(source)
    }
}

/// - Parameter write: gets the output, and the key in the form that OpenSSL's PEM writers take.
func writePEM(
    _ key: OpaquePointer, _ write: (OpaquePointer, OpaquePointer) -> Int32
) -> [UInt8] {
    writePEM({ EVP_PKEY_set1_EC_KEY($0, key) }, write)
}

/// The same for an RSA key.
func writePEM(
    rsa key: OpaquePointer, _ write: (OpaquePointer, OpaquePointer) -> Int32
) -> [UInt8] {
    writePEM({ EVP_PKEY_set1_RSA($0, key) }, write)
}

private func writePEM(
    _ fill: (OpaquePointer) -> Int32, _ write: (OpaquePointer, OpaquePointer) -> Int32
) -> [UInt8] {
    guard let sink = BIO_new(BIO_s_mem()), let envelope = EVP_PKEY_new() else { return [] }
    defer {
        BIO_free(sink)
        EVP_PKEY_free(envelope)
    }
    guard fill(envelope) == 1, write(sink, envelope) == 1 else { return [] }
    let length = BIO_ctrl_pending(sink)
    return [UInt8](unsafeUninitializedCapacity: length) { buffer, count in
        count = Int(max(0, BIO_read(sink, buffer.baseAddress, Int32(length))))
    }
}

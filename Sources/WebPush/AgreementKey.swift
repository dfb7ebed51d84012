import COpenSSL
import Turnstone

/// A key pair on P-256 for one message at a time, with which we and a browser agree on a secret (ECDH, SP
/// 800-56A section 5.7.1.2).
///
/// Its objects are kept from message to message: making a group anew would take longer than the rest. These
/// calls of OpenSSL's do the same arithmetic as `EVP_PKEY_derive(3)` without its set-up.
final class AgreementKey {
    private let key: OpaquePointer
    private let group: OpaquePointer
    private let peer: OpaquePointer

    init() throws(Failure) {
        guard let key = EC_KEY_new_by_curve_name(NID_X9_62_prime256v1) else {
            throw cryptoFailure("make a key")
        }
        guard let group = EC_KEY_get0_group(key), let peer = EC_POINT_new(group) else {
            EC_KEY_free(key)
            throw cryptoFailure("make a key")
        }
        self.key = key
        self.group = group
        self.peer = peer
    }

    deinit {
        EC_POINT_free(peer)
        EC_KEY_free(key)
    }

    /// Makes a new pair in place of the last one.
    func renew() throws(Failure) {
        defer { withExtendedLifetime(self) {} }
        guard EC_KEY_generate_key(key) == 1 else { throw cryptoFailure("make a key") }
    }

    /// Takes a known private key of 32 bytes, for examples.
    ///
    /// - Returns: whether it is one.
    func take(privateKey: [UInt8]) -> Bool {
        defer { withExtendedLifetime(self) {} }
        defer { ERR_clear_error() }
        guard let number = BN_bin2bn(privateKey, Int32(clamping: privateKey.count), nil),
            let point = EC_POINT_new(group)
        else { return false }
        defer {
            BN_clear_free(number)
            EC_POINT_free(point)
        }
        return EC_POINT_mul(group, point, number, nil, nil, nil) == 1
            && EC_KEY_set_private_key(key, number) == 1 && EC_KEY_set_public_key(key, point) == 1
            && EC_KEY_check_key(key) == 1
    }

    /// The public half, an uncompressed point of 65 bytes.
    var point: [UInt8] {
        defer { withExtendedLifetime(self) {} }
        return [UInt8](unsafeUninitializedCapacity: 65) { buffer, count in
            count = EC_POINT_point2oct(
                group, EC_KEY_get0_public_key(key), POINT_CONVERSION_UNCOMPRESSED,
                buffer.baseAddress, 65, nil)
        }
    }

    /// The secret that the owner of a point's private half gets, too: 32 bytes.
    ///
    /// - Returns: `nil` unless the point is uncompressed and lies on the curve. With another one, the secret
    ///   would reveal our key. C: `EC_POINT_oct2point(3)`, which checks it.
    func secret(with point: [UInt8]) -> [UInt8]? {
        defer { withExtendedLifetime(self) {} }
        guard point.count == 65, point.first == 4,
            EC_POINT_oct2point(group, peer, point, point.count, nil) == 1
        else {
            ERR_clear_error()
            return nil
        }
        let secret = [UInt8](unsafeUninitializedCapacity: 32) { buffer, count in
            count = Int(max(0, ECDH_compute_key(buffer.baseAddress, 32, peer, key, nil)))
        }
        guard secret.count == 32 else {
            ERR_clear_error()
            return nil
        }
        return secret
    }
}

func cryptoFailure(_ task: String) -> Failure {
    ERR_clear_error()
    return Failure(.later(seconds: 5), "unable to \(task): OpenSSL refused", cause: "OpenSSL")
}

import Turnstone

/// A public key's file: a SubjectPublicKeyInfo (RFC 5280 section 4.1.2.7) in PEM form (RFC 7468 section 13).
/// It is parsed here because OpenSSL's decoders take two milliseconds to set themselves up.
enum PublicKeyInfo: Equatable {
    /// A point of P-256, uncompressed (RFC 5480 section 2).
    case p256(point: [UInt8])
    /// An RSA key (RFC 8017 appendix A.1.1).
    case rsa(modulus: [UInt8], exponent: [UInt8])

    /// - Returns: `nil` if the text holds no public key, or one of another kind.
    init?(pem: [UInt8]) {
        guard let bytes = content(ofPEM: pem, "PUBLIC KEY") else { return nil }
        var file = DER(bytes)
        guard var info = file.take(.sequence), file.isEmpty, var kind = info.take(.sequence),
            let name = kind.take(.objectIdentifier), let bits = info.take(.bitString),
            info.isEmpty, bits.rest.first == 0  // whole bytes
        else { return nil }
        let key = bits.rest.dropFirst()
        switch Array(name.rest) {
        case rsaEncryption:
            guard let null = kind.take(.null), null.isEmpty, kind.isEmpty else { return nil }
            self.init(rsa: DER(Array(key)))
        case ecPublicKey:
            guard let curve = kind.take(.objectIdentifier), Array(curve.rest) == prime256v1,
                kind.isEmpty
            else { return nil }
            self = .p256(point: Array(key))
        default: return nil
        }
    }

    private init?(rsa key: DER) {
        var key = key
        guard var numbers = key.take(.sequence), key.isEmpty,
            let modulus = numbers.takePositive(), let exponent = numbers.takePositive(),
            numbers.isEmpty
        else { return nil }
        self = .rsa(modulus: modulus, exponent: exponent)
    }
}

/// 1.2.840.113549.1.1.1, 1.2.840.10045.2.1 and 1.2.840.10045.3.1.7.
private let rsaEncryption: [UInt8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 1]
private let ecPublicKey: [UInt8] = [0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1]
private let prime256v1: [UInt8] = [0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7]

/// The decoded content between the BEGIN and END lines of a label.
private func content(ofPEM text: [UInt8], _ label: String) -> [UInt8]? {
    let lines = text.split { $0 == 10 || $0 == 13 }.map { line in
        line.filter { $0 != 9 && $0 != 32 }
    }
    let name = label.utf8.filter { $0 != 32 }
    func place(_ word: String, in lines: ArraySlice<[UInt8]>) -> Int? {
        lines.firstIndex { $0 == Array("-----\(word)".utf8) + name + Array("-----".utf8) }
    }
    guard let begin = place("BEGIN", in: lines[...]), let end = place("END", in: lines[begin...])
    else { return nil }
    return base64Decoded(
        String(decoding: Array(lines[(begin + 1)..<end].joined()), as: UTF8.self))
}

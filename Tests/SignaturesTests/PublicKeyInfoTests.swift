import Testing
import Turnstone

@testable import Signatures

/// Files of public keys, which are read by hand.
@Suite struct PublicKeyInfoTests {
    private func kind(_ text: String) -> String {
        do {
            switch try SignaturePublicKey(pem: Array(text.utf8)) {
            case .es256: return "ES256"
            case .rs256: return "RS256"
            }
        } catch { return error.sentence }
    }

    private static let other =
        "unable to use the key: it is not a public key in PEM form, RSA or P-256"

    @Test(
        "a file's key is known by its kind",
        arguments: [
            (PublicKeys.rsa, "RS256"), (PublicKeys.p256, "ES256"),
            (PublicKeys.shortRSA, "unable to use the key: an RSA key must have 2048 to 16384 bits"),
            (PublicKeys.compressed, "unable to use the key: its point is not on P-256"),
            (PublicKeys.p384, other), (PublicKeys.ed25519, other), (Keys.sec1, other), ("", other),
        ])
    func kinds(text: String, kind: String) {
        #expect(self.kind(text) == kind)
    }

    @Test("what OpenSSL writes is read")
    func written() throws {
        for _ in 0..<20 {
            let key = try ES256PrivateKey.generate()
            let message = Array("message".utf8)
            guard case .es256(let read) = try SignaturePublicKey(pem: key.publicKey.pem) else {
                Issue.record("it is taken for RSA")
                return
            }
            #expect(try read.verify(key.sign(message), of: message))
        }
    }

    @Test(
        "blanks, other line ends and text around it do no harm",
        arguments: [PublicKeys.rsa, PublicKeys.p256])
    func forms(text: String) {
        let right = kind(text)
        #expect(right.hasSuffix("256"))
        for form in [
            text.replacing("\n", with: "\r\n"), text.replacing("\n", with: " \n"),
            "A key:\n\n" + text + "\nThe end.\n", String(text.dropLast()), text + text,
            text.replacing("-----\n", with: "-----\n\n"),
        ] {
            #expect(kind(form) == right)
        }
        for form in [
            text.replacing("PUBLIC", with: "RSA PUBLIC"), text.replacing("-----END", with: "END"),
            text.replacing("-----BEGIN", with: "----BEGIN"),
            text.replacing("\nM", with: "\n*M"), text.replacing("KEY-----\nM", with: "KEY-----\n"),
        ] {
            #expect(kind(form) == Self.other)
        }
    }

    private func bytes(_ text: String) throws -> [UInt8] {
        let lines = text.split(separator: "\n").dropFirst().dropLast()
        return try #require(base64Decoded(lines.joined()))
    }

    private func file(_ bytes: [UInt8]) -> [UInt8] {
        Array("-----BEGIN PUBLIC KEY-----\n\(base64(bytes))\n-----END PUBLIC KEY-----\n".utf8)
    }

    @Test(
        "half a key is refused, and so is one with trailing bytes",
        arguments: [PublicKeys.rsa, PublicKeys.p256])
    func lengths(text: String) throws {
        let whole = try bytes(text)
        #expect(PublicKeyInfo(pem: file(whole)) != nil)
        for count in 0..<whole.count {
            #expect(PublicKeyInfo(pem: file(Array(whole.prefix(count)))) == nil)
        }
        #expect(PublicKeyInfo(pem: file(whole + [0])) == nil)
    }

    @Test("a changed byte makes another key or none", arguments: [PublicKeys.rsa, PublicKeys.p256])
    func changes(text: String) throws {
        let whole = try bytes(text)
        let right = PublicKeyInfo(pem: file(whole))
        for place in whole.indices {
            for bit in 0..<8 {
                var changed = whole
                changed[place] ^= 1 << UInt8(bit)
                #expect(PublicKeyInfo(pem: file(changed)) != right)
                _ = try? SignaturePublicKey(pem: file(changed))
            }
        }
    }

    @Test(
        "numbers and lengths have one form",
        arguments: [
            ([2, 1, 5], [5]), ([2, 2, 0, 0x80], [0x80]), ([2, 2, 0, 5], nil), ([2, 1, 0x80], nil),
            ([2, 1, 0], nil), ([2, 0], nil), ([2, 0x81, 1, 5], nil), ([2, 0x82, 0, 1, 5], nil),
            ([2, 2, 5], nil), ([2, 0x80, 5, 0, 0], nil), ([3, 1, 5], nil), ([], nil), ([2], nil),
        ] as [([UInt8], [UInt8]?)])
    func numbers(text: [UInt8], digits: [UInt8]?) {
        var values = DER(text)
        #expect(values.takePositive() == digits)
    }

    @Test("an exponent is odd, more than 1, and no longer than 64 bits")
    func exponents() throws {
        guard case .rsa(let modulus, let exponent)? = PublicKeyInfo(pem: Array(PublicKeys.rsa.utf8))
        else { throw unusableKey("the test's own key") }
        #expect(exponent == [1, 0, 1])
        for bad: [UInt8] in [[], [1], [4], [1, 0, 0], [1, 0, 0, 0, 0, 0, 0, 0, 1]] {
            #expect(throws: Failure.self) { try RS256PublicKey(modulus: modulus, exponent: bad) }
        }
        let long = [UInt8](repeating: 0xff, count: 2049)
        #expect(throws: Failure.self) { try RS256PublicKey(modulus: long, exponent: exponent) }
    }
}

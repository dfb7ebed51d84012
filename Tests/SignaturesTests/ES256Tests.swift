import Signatures
import Testing
import Turnstone

@Suite struct ES256Tests {
    /// RFC 7515 appendix A.3.
    @Test func theStandardsSignatureHolds() throws {
        let x = "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"
        let y = "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"
        let signed =
            "eyJhbGciOiJFUzI1NiJ9"
            + ".eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
        let signature =
            "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"
        let point = try [4] + #require(base64URLDecoded(x)) + #require(base64URLDecoded(y))
        let key = try #require(ES256PublicKey(point: point))
        let bytes = try #require(base64URLDecoded(signature))
        #expect(key.verify(bytes, of: Array(signed.utf8)))
        #expect(!key.verify(bytes, of: Array((signed + "A").utf8)))
    }

    @Test func aFreshKeySurvivesItsText() throws {
        let made = try ES256PrivateKey.generate()
        #expect(String(decoding: made.pem, as: UTF8.self).hasPrefix("-----BEGIN PRIVATE KEY-----"))
        let read = try ES256PrivateKey(pem: made.pem)
        let message = Array("a message".utf8)
        let signature = try read.sign(message)
        #expect(signature.count == 64)
        #expect(made.publicKey.verify(signature, of: message))
        #expect(try ES256PublicKey(pem: made.publicKey.pem).verify(signature, of: message))
        let other = try ES256PrivateKey.generate()
        #expect(!other.publicKey.verify(signature, of: message))
        #expect(other.pem != made.pem)
    }

    /// r and s begin with a zero byte once in 128 signatures, which DER would leave out.
    @Test func everySignatureHas64Bytes() throws {
        let key = try ES256PrivateKey.generate()
        for number in 0..<1000 {
            let message = Array("\(number)".utf8)
            let signature = try key.sign(message)
            #expect(signature.count == 64)
            #expect(key.publicKey.verify(signature, of: message))
        }
    }

    @Test func aChangedSignatureIsRefused() throws {
        let key = try ES256PrivateKey.generate()
        let message = Array("a message".utf8)
        let signature = try key.sign(message)
        for place in signature.indices {
            var changed = signature
            changed[place] ^= 1
            #expect(!key.publicKey.verify(changed, of: message))
        }
        let zeros = [UInt8](repeating: 0, count: 64)
        for bad in [[], Array(signature.dropLast()), signature + [0], zeros] {
            #expect(!key.publicKey.verify(bad, of: message))
        }
    }

    @Test func aKeyInTheOlderFormIsRead() throws {
        #expect(try ES256PrivateKey(pem: Array(Keys.sec1.utf8)).sign([1]).count == 64)
    }

    @Test(arguments: [
        ("", "not an unencrypted private key"),
        ("not a key", "not an unencrypted private key"),
        ("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "not an unencrypted"),
        (Keys.encrypted, "not an unencrypted private key"),
        (Keys.rsa, "not an elliptic-curve key"),
        (Keys.otherCurve, "its curve is not P-256"),
        (Keys.sec1.replacing("uImArX", with: "uImrrX"), "do not match"),
    ])
    func whatIsNoKeyIsRefusedWithAReason(pem: String, reason: String) throws {
        let failure = try #require(throws: Failure.self) {
            try ES256PrivateKey(pem: Array(pem.utf8))
        }
        #expect(failure.disposition == .misconfigured)
        #expect(failure.sentence.contains(reason))
    }

    @Test func aPublicKeyIsNoPrivateKey() throws {
        let key = try ES256PrivateKey.generate()
        #expect(throws: Failure.self) { try ES256PrivateKey(pem: key.publicKey.pem) }
        #expect(throws: Failure.self) { try ES256PublicKey(pem: key.pem) }
    }

    @Test func aPointOffTheCurveIsRefused() {
        #expect(ES256PublicKey(point: [4] + [UInt8](repeating: 1, count: 64)) == nil)
        #expect(ES256PublicKey(point: [2] + [UInt8](repeating: 1, count: 32)) == nil)
        #expect(ES256PublicKey(point: []) == nil)
    }
}

import Signatures
import Testing
import Turnstone

@Suite struct RS256PrivateKeyTests {
    private let message = Array("to be signed".utf8)

    @Test func itsPublicHalfVerifiesWhatItSigns() throws {
        let key = try RS256PrivateKey.generate()
        let publicKey = try RS256PublicKey(pem: key.publicPEM)
        let signature = try key.sign(message)
        #expect(signature.count == 256)
        #expect(publicKey.verify(signature, of: message))
        #expect(!publicKey.verify(signature, of: message + [0]))
        #expect(!publicKey.verify(Array(signature.reversed()), of: message))
        let other = try RS256PublicKey(pem: RS256PrivateKey.generate().publicPEM)
        #expect(!other.verify(signature, of: message))
    }

    @Test func itReadsWhatItWrites() throws {
        let key = try RS256PrivateKey.generate()
        let again = try RS256PrivateKey(pem: key.pem)
        #expect(again.fingerprint == key.fingerprint)
        #expect(try again.sign(message) == key.sign(message))
        #expect(String(decoding: key.pem, as: UTF8.self).hasPrefix("-----BEGIN PRIVATE KEY-----"))
    }

    @Test(
        "another kind of key, a short one, an encrypted one and no key are refused",
        arguments: [Keys.sec1, Keys.otherCurve, Keys.rsa, Keys.encrypted, "", "no key"])
    func refused(pem: String) throws {
        let failure = try #require(throws: Failure.self) {
            try RS256PrivateKey(pem: Array(pem.utf8))
        }
        #expect(failure.disposition == .misconfigured)
    }
}

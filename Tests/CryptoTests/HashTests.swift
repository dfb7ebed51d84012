import Crypto
import Testing
import Turnstone

@Suite struct HashTests {
    /// FIPS 180-4's examples, and the lengths around a block's end.
    @Test(arguments: [
        ("", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        ),
        ("a", 1_000_000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"),
    ])
    func aDigestIsTheStandards(text: String, times: Int, digest: String) {
        let bytes = Array(String(repeating: text, count: times).utf8)
        #expect(hex(SHA256.hash(bytes)) == digest)
        var sum = SHA256()
        for start in stride(from: 0, to: bytes.count, by: 997) {
            sum.update(Array(bytes[start..<min(start + 997, bytes.count)]))
        }
        #expect(hex(sum.finish()) == digest)
    }

    /// RFC 4231, cases 1, 2, 6 and 7.
    @Test(arguments: [
        (
            [UInt8](repeating: 0x0b, count: 20), "Hi There",
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        ),
        (
            Array("Jefe".utf8), "what do ya want for nothing?",
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        ),
        (
            [UInt8](repeating: 0xaa, count: 131),
            "Test Using Larger Than Block-Size Key - Hash Key First",
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        ),
        (
            [UInt8](repeating: 0xaa, count: 131),
            "This is a test using a larger than block-size key and a larger than block-size data. "
                + "The key needs to be hashed before being used by the HMAC algorithm.",
            "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"
        ),
    ])
    func anAuthenticationCodeIsTheStandards(key: [UInt8], message: String, code: String) {
        #expect(hex(hmacSHA256(Array(message.utf8), key: key)) == code)
    }

    @Test(arguments: [
        ("secret", "secret", true), ("secret", "secreT", false), ("secret", "secret1", false),
        ("", "", true), ("", "a", false), ("\0", "", false),
    ])
    func onlyTheSameSecretIsEqual(left: String, right: String, isEqual: Bool) {
        #expect(isEqualInConstantTime(left, right) == isEqual)
        #expect(isEqualInConstantTime(Array(left.utf8), Array(right.utf8)) == isEqual)
    }

    @Test func aStableIdentifierIsAUUIDOfVersion8() {
        let id = stableUUID("a name")
        #expect(id == stableUUID("a name"))
        #expect(id != stableUUID("another name"))
        let parts = id.split(separator: "-")
        #expect(parts.map(\.count) == [8, 4, 4, 4, 12])
        #expect(id == id.lowercased() && parts[2].hasPrefix("8"))
        #expect(["8", "9", "a", "b"].contains(parts[3].prefix(1)))
    }
}

import Crypto
import Foundation
import Testing

@testable import WebPush

/// Google's collection of inputs that implementations have got wrong, read from the folder that
/// `TURNSTONE_VECTORS` names; elsewhere these tests are skipped.
@Suite(.enabled(if: vectors != nil, "TURNSTONE_VECTORS is not set"))
struct WycheproofTests {
    private struct File<Group: Decodable>: Decodable {
        let testGroups: [Group]
    }

    private struct Agreements: Decodable {
        let tests: [Agreement]
    }

    private struct Agreement: Decodable {
        let tcId: Int
        let `public`: String
        let `private`: String
        let shared: String
        let result: String
        let flags: [String]
    }

    private struct Derivations: Decodable {
        let tests: [Derivation]
    }

    private struct Derivation: Decodable {
        let tcId: Int
        let ikm: String
        let salt: String
        let info: String
        let size: Int
        let okm: String
        let result: String
    }

    private struct Ciphers: Decodable {
        let keySize: Int
        let ivSize: Int
        let tagSize: Int
        let tests: [Cipher]
    }

    private struct Cipher: Decodable {
        let tcId: Int
        let key: String
        let iv: String
        let aad: String
        let msg: String
        let ct: String
        let tag: String
        let result: String
    }

    /// Compressed points are valid elsewhere; a browser's key is never compressed.
    @Test func everyAgreementGetsItsVerdict() throws {
        let key = try AgreementKey()
        var count = 0
        for group: Agreements in try groups("ecdh_secp256r1_ecpoint_test") {
            for vector in group.tests where !vector.flags.contains("CompressedPoint") {
                var number = bytes(vector.private)
                while number.count > 32, number.first == 0 { number.removeFirst() }
                try #require(key.take(privateKey: number), "vector \(vector.tcId)")
                let secret = key.secret(with: bytes(vector.public))
                let expected = vector.result == "valid" ? bytes(vector.shared) : nil
                #expect(secret == expected, "vector \(vector.tcId)")
                count += 1
            }
        }
        #expect(count > 100)
    }

    @Test func everyDerivationIsRight() throws {
        var count = 0
        for group: Derivations in try groups("hkdf_sha256_test") {
            for vector in group.tests where vector.result == "valid" {
                let keys = HKDF(bytes(vector.ikm), salt: bytes(vector.salt))
                let expanded = keys.expanded(bytes(vector.info), count: vector.size)
                #expect(expanded == bytes(vector.okm), "vector \(vector.tcId)")
                count += 1
            }
        }
        #expect(count > 50)
    }

    @Test func everyCiphertextIsRight() throws {
        let cipher = try AES128GCM()
        var count = 0
        for group: Ciphers in try groups("aes_gcm_test")
        where group.keySize == 128 && group.ivSize == 96 && group.tagSize == 128 {
            for vector in group.tests where vector.aad.isEmpty {
                var sealed: [UInt8] = []
                try cipher.seal(
                    bytes(vector.msg), key: bytes(vector.key), nonce: bytes(vector.iv),
                    onto: &sealed)
                let isRight = sealed == bytes(vector.ct) + bytes(vector.tag)
                #expect(isRight == (vector.result == "valid"), "vector \(vector.tcId)")
                count += 1
            }
        }
        #expect(count > 20)
    }

    private func groups<Group: Decodable>(_ name: String) throws -> [Group] {
        let path = "\(vectors ?? "")/wycheproof/\(name).json"
        let data = try Data(contentsOf: URL(fileURLWithPath: path))
        return try JSONDecoder().decode(File<Group>.self, from: data).testGroups
    }

    private func bytes(_ hex: String) -> [UInt8] {
        let digits = hex.compactMap(\.hexDigitValue)
        return stride(from: 0, to: digits.count - 1, by: 2).map {
            UInt8(digits[$0] * 16 + digits[$0 + 1])
        }
    }
}

private let vectors = ProcessInfo.processInfo.environment["TURNSTONE_VECTORS"]

import Foundation
import Signatures
import Testing

/// Google's collection of signatures that implementations have got wrong, read from the folder that
/// `TURNSTONE_VECTORS` names; elsewhere these tests are skipped.
@Suite(.enabled(if: vectors != nil, "TURNSTONE_VECTORS is not set"))
struct WycheproofTests {
    private struct File: Decodable {
        let testGroups: [Group]
    }

    private struct Group: Decodable {
        let publicKeyPem: String
        let tests: [Vector]
    }

    private struct Vector: Decodable {
        let tcId: Int
        let msg: String
        let sig: String
        let result: String
    }

    @Test func everyECDSASignatureGetsItsVerdict() throws {
        for group in try groups("ecdsa_secp256r1_sha256_p1363_test") {
            let key = try ES256PublicKey(pem: Array(group.publicKeyPem.utf8))
            for vector in group.tests {
                let isValid = key.verify(bytes(vector.sig), of: bytes(vector.msg))
                #expect(isValid == (vector.result == "valid"), "vector \(vector.tcId)")
            }
        }
    }

    /// One vector leaves out a NULL that the standard wants; it may be taken or not.
    @Test func everyRSASignatureGetsItsVerdict() throws {
        for group in try groups("rsa_signature_2048_sha256_test") {
            let key = try RS256PublicKey(pem: Array(group.publicKeyPem.utf8))
            for vector in group.tests where vector.result != "acceptable" {
                let isValid = key.verify(bytes(vector.sig), of: bytes(vector.msg))
                #expect(isValid == (vector.result == "valid"), "vector \(vector.tcId)")
            }
        }
    }

    private func groups(_ name: String) throws -> [Group] {
        let path = "\(vectors ?? "")/wycheproof/\(name).json"
        let data = try Data(contentsOf: URL(fileURLWithPath: path))
        let groups = try JSONDecoder().decode(File.self, from: data).testGroups
        #expect(!groups.isEmpty)
        return groups
    }

    private func bytes(_ hex: String) -> [UInt8] {
        let digits = hex.compactMap(\.hexDigitValue)
        return stride(from: 0, to: digits.count - 1, by: 2).map {
            UInt8(digits[$0] * 16 + digits[$0 + 1])
        }
    }
}

private let vectors = ProcessInfo.processInfo.environment["TURNSTONE_VECTORS"]

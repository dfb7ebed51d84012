import Crypto
import Foundation
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

    @Test func everySignatureGetsItsVerdict() throws {
        let path = "\(vectors ?? "")/wycheproof/ecdsa_secp256r1_sha256_p1363_test.json"
        let data = try Data(contentsOf: URL(fileURLWithPath: path))
        let groups = try JSONDecoder().decode(File.self, from: data).testGroups
        #expect(!groups.isEmpty)
        for group in groups {
            let key = try ES256PublicKey(pem: Array(group.publicKeyPem.utf8))
            for vector in group.tests {
                let isValid = key.verify(bytes(vector.sig), of: bytes(vector.msg))
                #expect(isValid == (vector.result == "valid"), "vector \(vector.tcId)")
            }
        }
    }

    private func bytes(_ hex: String) -> [UInt8] {
        let digits = hex.compactMap(\.hexDigitValue)
        return stride(from: 0, to: digits.count - 1, by: 2).map {
            UInt8(digits[$0] * 16 + digits[$0 + 1])
        }
    }
}

private let vectors = ProcessInfo.processInfo.environment["TURNSTONE_VECTORS"]

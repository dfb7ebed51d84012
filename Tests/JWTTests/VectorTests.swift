import Foundation
import Signatures
import Testing
import Turnstone

@testable import JWT

/// RFC 7515's own examples, and Google's collection (Wycheproof), which is read from the folder that
/// `TURNSTONE_VECTORS` names and skipped elsewhere.
@Suite struct VectorTests {
    private struct Key: Decodable {
        let kty: String
        var k: String?
        var x: String?
        var y: String?
        var crv: String?
        var n: String?
        var e: String?
    }

    /// Appendices A.1, A.2 and A.3: the same claims, by three keys.
    @Test(
        "the standard's signatures hold, and none with a byte changed",
        arguments: Examples.all)
    func standard(example: Example) throws {
        let key = try JSONDecoder().decode(Key.self, from: Data(example.key.utf8))
        let keys = try #require(try verifying(key))
        let signed = try #require(SignedText(example.text))
        #expect(signed.isSigned(by: keys))
        let dot = try #require(example.text.lastIndex(of: "."))
        var changed = example.text
        let first = changed.index(after: dot)
        changed.replaceSubrange(first...first, with: changed[first] == "A" ? "B" : "A")
        #expect(SignedText(changed)?.isSigned(by: keys) == false)
    }

    private struct File: Decodable {
        struct Group: Decodable {
            struct Vector: Decodable {
                let tcId: Int
                let jws: String
                let result: String
            }

            var `public`: Key?
            var `private`: Key?
            let tests: [Vector]
        }

        let testGroups: [Group]
    }

    /// Valid in the collection, and refused by us on purpose.
    private let refused: [Int: String] = [
        372: "a character in the header that base64url has not (RFC 7515 section 2)",
        373: "such a character in the payload",
    ]

    /// Invalid in the collection, and not for us.
    private let accepted: [Int: String] = [
        332: "the key is meant for PS512, which only a JSON Web Key can say; our files are PEM",
        353: "the key is meant for encryption, which only a JSON Web Key can say", 354: "the same",
        355: "the same, by key_ops", 356: "the same",
        367: "the text is that of the valid vector 357",
        370: "the text is that of the valid vector 357",
    ]

    @Test(.enabled(if: vectors != nil, "TURNSTONE_VECTORS is not set"))
    func collection() throws {
        let path = "\(vectors ?? "")/wycheproof/json_web_signature_test.json"
        let file = try JSONDecoder().decode(
            File.self, from: Data(contentsOf: URL(fileURLWithPath: path)))
        var judged = 0
        for group in file.testGroups {
            guard let key = group.public ?? group.private else { continue }
            let keys = try verifying(key)
            for vector in group.tests {
                let header = vector.jws.split(separator: ".", omittingEmptySubsequences: false)[0]
                let isValid =
                    keys.map { SignedText(vector.jws)?.isSigned(by: $0) ?? false } ?? false
                let algorithms = ["HS256", "RS256", "ES256"]
                let isOurs = algorithms.contains { name in
                    base64URLDecoded(String(header)).map {
                        String(decoding: $0, as: UTF8.self).contains(name)
                    } ?? false
                }
                let shouldBe = vector.result == "valid" && isOurs && refused[vector.tcId] == nil
                #expect(
                    isValid == (shouldBe || accepted[vector.tcId] != nil), "vector \(vector.tcId)")
                judged += 1
            }
        }
        #expect(judged == 401)
    }

    /// A JSON Web Key (RFC 7517) as our settings hold it; `nil` for one of a kind that we do not know.
    private func verifying(_ key: Key) throws -> JWTKeys? {
        switch key.kty {
        case "oct": return JWTKeys(secret: try bytes(key.k))
        case "EC" where key.crv == "P-256":
            let point = try [4] + bytes(key.x) + bytes(key.y)
            return ES256PublicKey(point: point).map { JWTKeys(publicKey: .es256($0)) }
        case "RSA":
            let pem = try rsaPEM(bytes(key.n), bytes(key.e))
            return JWTKeys(publicKey: .rs256(try RS256PublicKey(pem: pem)))
        default: return nil
        }
    }

    private func bytes(_ text: String?) throws -> [UInt8] {
        let text = try #require(text)
        return try #require(base64URLDecoded(text))
    }

    /// SubjectPublicKeyInfo of an RSA key (RFC 8017 appendix A.1.1) in PEM form.
    private func rsaPEM(_ modulus: [UInt8], _ exponent: [UInt8]) -> [UInt8] {
        func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
            let length: [UInt8] =
                content.count < 128
                ? [UInt8(content.count)]
                : [0x82, UInt8(content.count >> 8), UInt8(content.count & 255)]
            return [tag] + length + content
        }
        func integer(_ bytes: [UInt8]) -> [UInt8] {
            element(2, (bytes.first ?? 0) > 127 ? [0] + bytes : bytes)
        }
        let algorithm = element(
            0x30, [6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 1, 5, 0])
        let key = element(0x30, integer(modulus) + integer(exponent))
        let whole = element(0x30, algorithm + element(3, [0] + key))
        let text = Data(whole).base64EncodedString(options: .lineLength64Characters)
        return Array("-----BEGIN PUBLIC KEY-----\n\(text)\n-----END PUBLIC KEY-----\n".utf8)
    }
}

private let vectors = ProcessInfo.processInfo.environment["TURNSTONE_VECTORS"]

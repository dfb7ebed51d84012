import APNs
import PushServices
import Signatures
import Turnstone

/// A `.p8` file, as a file and as its base64.
///
/// After `P`, the rest is the file; after `D`, it is what stands in the file as base64; after `A`, it is the
/// variable that holds the file as base64. A key that is taken signs, and can be written and read again.
@Sendable func keyFile(_ bytes: [UInt8]) -> String? {
    let rest = Array(bytes.dropFirst())
    switch bytes.first {
    case UInt8(ascii: "P"): return key(rest)
    case UInt8(ascii: "D"):
        let lines = "-----BEGIN PRIVATE KEY-----\n\(lines(base64(rest)))-----END PRIVATE KEY-----\n"
        return key(Array(lines.utf8))
    case UInt8(ascii: "A"): return settings(String(decoding: rest, as: UTF8.self))
    default: return nil
    }
}

/// PEM's lines have 64 digits.
private func lines(_ digits: String) -> String {
    let bytes = Array(digits.utf8)
    return stride(from: 0, to: bytes.count, by: 64).map {
        String(decoding: bytes[$0..<min($0 + 64, bytes.count)], as: UTF8.self) + "\n"
    }.joined()
}

private func key(_ file: [UInt8]) -> String? {
    guard let key = try? ES256PrivateKey(pem: file) else { return nil }
    let message = Array("message".utf8)
    guard let signature = try? key.sign(message) else { return "a key was taken that cannot sign" }
    guard key.publicKey.verify(signature, of: message) else { return "its signature is not valid" }
    guard let again = try? ES256PrivateKey(pem: key.pem), again.pem == key.pem else {
        return "what was written is refused, or another key"
    }
    return nil
}

private func settings(_ text: String) -> String? {
    if let bytes = base64Decoded(text), base64(bytes) != text { return "base64 has two forms" }
    if let bytes = base64URLDecoded(text), base64URL(bytes) != text {
        return "base64 has two forms"
    }
    var variables = Variables()
    variables.offer("APNS_KEY", text)
    variables.offer("APNS_KEY_ID", "ABCDEFGHIJ")
    variables.offer("APNS_TEAM_ID", "ABCDEFGHIJ")
    variables.offer("APNS_BUNDLE_ID", "com.example.app")
    guard let settings = try? APNsSettings(variables) else { return nil }
    let token = try? ProviderToken(settings, at: Timestamp(milliseconds: 0))
    return token == nil ? "a key was taken that signs no token" : nil
}

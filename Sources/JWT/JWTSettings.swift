import Signatures
import Turnstone
import Unix

/// Which JSON Web Tokens are accepted, from the `JWT_…` variables.
package struct JWTSettings {
    let keys: JWTKeys
    let issuer: String?
    let audience: String?
    /// The claim that names the user.
    let userClaim: String
    /// Whether a token without `exp` is refused: if it leaked, it would stay valid for ever.
    let requiresExpiry: Bool
    /// The cookie that may hold the token.
    package let cookie: String

    /// - Throws: misconfigured, with a sentence that names the variable. If neither `JWT_SECRET` nor
    ///   `JWT_PUBLIC_KEY_PATH` is set, no token can be accepted.
    @export(interface)
    package init(_ variables: Variables) throws(Failure) {
        if let secret = variables.text("JWT_SECRET"), secret.utf8.count < 32 {
            // RFC 7518 section 3.2. With any token at hand, a shorter secret can be found by brute force.
            throw variables.wrong(
                "JWT_SECRET",
                "must have at least 32 bytes. Run: openssl rand -hex 32"
            )
        }
        keys = JWTKeys(
            secret: variables.text("JWT_SECRET").map { Array($0.utf8) },
            publicKey: try Self.publicKey(variables))
        guard keys.secret != nil || keys.publicKey != nil else {
            throw variables.wrong("JWT_SECRET", "set it, or set JWT_PUBLIC_KEY_PATH")
        }
        issuer = variables.text("JWT_ISSUER")
        audience = variables.text("JWT_AUDIENCE")
        userClaim = variables.text("JWT_USER_CLAIM") ?? "sub"
        requiresExpiry = try variables.flag("JWT_REQUIRE_EXP", standard: true)
        cookie = variables.text("JWT_COOKIE") ?? "authToken"
        // RFC 6265 section 4.1.1.
        guard cookie.utf8.allSatisfy(isCookieNameCharacter) else {
            throw variables.wrong(
                "JWT_COOKIE", "must be a cookie's name, such as authToken, without blanks or ;")
        }
    }

    private static func publicKey(_ variables: Variables) throws(Failure) -> SignaturePublicKey? {
        let name = "JWT_PUBLIC_KEY_PATH"
        guard let file = try variables.operatorFile(name) else { return nil }
        do throws(Failure) { return try SignaturePublicKey(pem: file.contents) } catch {
            throw variables.wrong(
                name, "the file \(file.path) must hold a public key in PEM format, RSA or P-256")
        }
    }
}

private func isCookieNameCharacter(_ byte: UInt8) -> Bool {
    (0x21...0x7e).contains(byte) && !"()<>@,;:\\\"/[]?={}".utf8.contains(byte)
}

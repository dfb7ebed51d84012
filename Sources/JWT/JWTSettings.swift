import Signatures
import Turnstone
import Unix

/// Whose JSON Web Tokens are believed, from the `JWT_…` variables.
package struct JWTSettings {
    let keys: JWTKeys
    let issuer: String?
    let audience: String?
    /// The claim that names the user.
    let userClaim: String
    /// Whether a token without `exp` is refused: one that leaks would be good for ever.
    let requiresExpiry: Bool
    /// The cookie that may hold the token.
    package let cookie: String

    /// - Throws: a sentence that names the variable; where neither `JWT_SECRET` nor `JWT_PUBLIC_KEY_PATH` is set,
    ///   nobody can be believed, which is worth trying again only when somebody has set one.
    package init(_ variables: Variables) throws(Failure) {
        if let secret = variables.text("JWT_SECRET"), secret.utf8.count < 32 {
            // RFC 7518 section 3.2. A shorter one can be found by trying, with any token at hand.
            throw variables.wrong(
                "JWT_SECRET",
                "must have at least 32 bytes; openssl rand -hex 32 makes a secret that nobody guesses"
            )
        }
        keys = JWTKeys(
            secret: variables.text("JWT_SECRET").map { Array($0.utf8) },
            publicKey: try Self.publicKey(variables))
        guard keys.secret != nil || keys.publicKey != nil else {
            throw variables.wrong("JWT_SECRET", "must be set, or JWT_PUBLIC_KEY_PATH")
        }
        issuer = variables.text("JWT_ISSUER")
        audience = variables.text("JWT_AUDIENCE")
        userClaim = variables.text("JWT_USER_CLAIM") ?? "sub"
        requiresExpiry = try variables.flag("JWT_REQUIRE_EXP", standard: true)
        cookie = variables.text("JWT_COOKIE") ?? "authToken"
    }

    private static func publicKey(_ variables: Variables) throws(Failure) -> SignaturePublicKey? {
        let name = "JWT_PUBLIC_KEY_PATH"
        guard let path = variables.text(name) else { return nil }
        let pem: [UInt8]?
        do throws(SystemError) { pem = try Files.writtenContents(path) } catch {
            throw variables.wrong(
                name, "cannot read the file \(path): \(error.errno.reasonForFile)")
        }
        guard let pem else { throw variables.wrong(name, "there is no file \(path)") }
        do throws(Failure) { return try SignaturePublicKey(pem: pem) } catch {
            throw variables.wrong(
                name, "the file \(path) must hold a public key in PEM form, RSA or on P-256")
        }
    }
}

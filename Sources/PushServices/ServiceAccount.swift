import JSON
import Signatures
import Turnstone

/// A Google service account: the credential with which a server asks for access tokens.
///
/// Google: *Create and delete service account keys*; *Authorize send requests* (Firebase Cloud Messaging).
package struct ServiceAccount {
    package let projectID: String
    package let clientEmail: String
    package let key: RS256PrivateKey
    /// The `kid` of its assertions.
    package let keyID: String
    /// Where access tokens are fetched, and the path there.
    package let tokenAddress: GatewayAddress
    package let tokenPath: String
    /// `token_uri` as it is in the account: the audience of its assertions.
    package let tokenURI: String

    /// Reads an account's JSON.
    ///
    /// - Throws: a ``Failure`` whose sentence names the member that is wrong, and never its value.
    @export(interface)
    package init(_ text: [UInt8]) throws(Failure) {
        let members: JSONObject?
        do throws(JSONError) { members = try JSON.parse(text).object } catch { members = nil }
        guard let members else {
            throw .malformed("must hold a JSON object, as downloaded from Google's console")
        }
        if let type = members["type"], type != "service_account" {
            throw .malformed("holds another kind of credential: type must be service_account")
        }
        projectID = try Self.text("project_id", members)
        // It becomes a part of the path. Google: *Creating and managing projects*.
        guard projectID.utf8.count <= 64, projectID.utf8.allSatisfy(isProjectByte) else {
            throw .malformed("project_id must be 1 to 64 letters, digits, hyphens, dots or colons")
        }
        clientEmail = try Self.text("client_email", members)
        keyID = try Self.text("private_key_id", members)
        tokenURI = try Self.text("token_uri", members)
        let pem = try Self.text("private_key", members)
        do throws(Failure) { key = try RS256PrivateKey(pem: Array(pem.utf8)) } catch {
            throw .malformed(
                "private_key must be an RSA private key in PEM form: \(error.sentence)")
        }
        guard let place = Self.place(tokenURI) else {
            throw .malformed("token_uri must be https://HOST[:PORT]/PATH")
        }
        (tokenAddress, tokenPath) = place
    }

    private static func text(_ name: String, _ members: JSONObject) throws(Failure) -> String {
        guard let text = members[name]?.string, !text.isEmpty else {
            throw .malformed("has no \(name): download the account's key again")
        }
        return text
    }

    private static func place(_ uri: String) -> (GatewayAddress, String)? {
        let scheme = "https://"
        guard uri.utf8.starts(with: scheme.utf8),
            uri.utf8.allSatisfy({ (0x21...0x7e).contains($0) && $0 != UInt8(ascii: "#") })
        else { return nil }
        let rest = Array(uri.utf8.dropFirst(scheme.utf8.count))
        let slash = rest.firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
        let host = String(decoding: rest[..<slash], as: UTF8.self)
        guard let address = GatewayAddress(scheme + host) else { return nil }
        let path = String(decoding: rest[slash...], as: UTF8.self)
        return (address, path.isEmpty ? "/" : path)
    }
}

private func isProjectByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: ":"): true
    default: isLetterOrDigit(byte)
    }
}

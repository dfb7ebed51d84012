import Signatures
import Turnstone
import Unix

/// How to push to browsers, from the `VAPID_…` and `WEBPUSH_…` variables.
package struct WebPushSettings {
    /// `VAPID_SUBJECT`: how a push service's operators can reach this installation's, as a mailto: or https:
    /// address (RFC 8292 section 2.1).
    package let subject: String
    package let hosts: PushHosts
    /// The path of a file with certificates to trust instead of the system's.
    package let authorities: String?
    /// `WEBPUSH_HOME`: where a click on a notification leads if its payload names no address; otherwise the
    /// site that links in turn notices lead to.
    package let home: String
    /// The operator's key; `nil` if the installation makes one for itself.
    package let key: ES256PrivateKey?

    /// - Returns: `nil` if `VAPID_SUBJECT` is not set. Web Push is then off.
    /// - Throws: misconfigured, with the name of the variable, and of the file if one is at fault.
    @export(interface)
    package init?(_ variables: Variables) throws(Failure) {
        guard let subject = variables.text("VAPID_SUBJECT") else {
            guard variables.text("VAPID_PRIVATE_KEY_PATH") == nil else {
                throw Self.badSubject(variables)
            }
            return nil
        }
        guard Self.isSubject(subject) else { throw Self.badSubject(variables) }
        self.subject = subject
        hosts = try PushHosts(variables)
        authorities = try CertificateFile.path(in: variables, "WEBPUSH_CA_FILE")
        home = try Self.home(variables).text
        key = try Self.key(variables)
    }

    private static func home(_ variables: Variables) throws(Failure) -> SiteAddress {
        guard let text = variables.text("WEBPUSH_HOME") else {
            return try variables.ogsWebAddress()
        }
        guard let address = SiteAddress(text) else {
            throw variables.wrong(
                "WEBPUSH_HOME", "must be an address such as https://example.org/app")
        }
        return address
    }

    private static func badSubject(_ variables: Variables) -> Failure {
        variables.wrong(
            "VAPID_SUBJECT",
            "must be an address where you can be reached, such as mailto:push@example.org or https://example.org/contact; push services refuse localhost"
        )
    }

    private static func key(_ variables: Variables) throws(Failure) -> ES256PrivateKey? {
        let name = "VAPID_PRIVATE_KEY_PATH"
        let file = try variables.operatorFile(
            name,
            ifMissing:
                "; make one, or leave the variable out and the installation makes a key")
        guard let file else { return nil }
        do throws(Failure) { return try ES256PrivateKey(pem: file.contents) } catch {
            throw variables.wrong(
                name,
                "the file \(file.path) must hold a P-256 private key in PEM form. Run: openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out FILE"
            )
        }
    }

    /// Whether push services accept an address: `mailto:` with an e-mail address, or an https URL, neither of
    /// them at localhost.
    private static func isSubject(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        guard bytes.count <= 500 else { return false }
        let mail = Array("mailto:".utf8)
        if bytes.starts(with: mail) {
            let parts = bytes.dropFirst(mail.count).split(
                separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
            guard parts.count == 2, let name = parts.first, let host = parts.last, !name.isEmpty,
                name.allSatisfy({ $0 > 0x20 && $0 < 0x7f && !isMark($0) })
            else { return false }
            return isPublic(HostAndPort(String(decoding: host, as: UTF8.self)))
        }
        do throws(PushEndpoint.Fault) {
            return isPublic(HostAndPort(try PushEndpoint(text).host))
        } catch { return false }
    }

    private static func isPublic(_ host: HostAndPort?) -> Bool {
        guard let host, !host.isPattern, host.port == nil else { return false }
        let name = Array(host.host.utf8)
        let last = name.split(separator: UInt8(ascii: ".")).last ?? []
        return name.contains(UInt8(ascii: ".")) && !last.elementsEqual("localhost".utf8)
            && !name.starts(with: "127.".utf8)
    }

    /// Characters that would end the address, or begin another one.
    private static func isMark(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "\""), UInt8(ascii: ","),
            UInt8(ascii: ";"), UInt8(ascii: ":"), UInt8(ascii: "("), UInt8(ascii: ")"):
            true
        default: false
        }
    }
}

import Crypto
import Signatures
import Turnstone
import Unix

/// How to reach Firebase Cloud Messaging (FCM) and the credentials to use there, from the `FCM_…` variables.
package struct FCMSettings {
    package let account: ServiceAccount
    package let address: GatewayAddress
    /// The path of a file with certificates to trust instead of the system's.
    package let authorities: String?
    /// The largest number of connections at the same time.
    package let connections: Int
    /// The largest number of messages in any minute, for this process.
    package let messagesPerMinute: Int

    /// Google allows a project 600,000 messages a minute.
    private static let standardPace = 590_000

    /// - Returns: `nil` if `FCM_SERVICE_ACCOUNT` is unset: Android devices cannot be reached then.
    /// - Throws: misconfigured, with the name of the variable, and of the file if one is at fault.
    @export(interface)
    package init?(_ variables: Variables) throws(Failure) {
        guard let text = variables.text("FCM_SERVICE_ACCOUNT") else { return nil }
        account = try Self.account(text, variables)
        address =
            try GatewayAddress.named("FCM_BASE_URL", variables)
            ?? GatewayAddress(host: "fcm.googleapis.com", port: 443)
        authorities = try CertificateFile.path(in: variables, "FCM_CA_FILE")
        connections = try variables.number("FCM_CONNECTIONS", standard: 4, in: 1...32)
        // The limit is the installation's, and each of its queues has a drainer.
        messagesPerMinute = max(
            1,
            try variables.number(
                "FCM_MESSAGES_PER_MINUTE", standard: Self.standardPace, in: 60...100_000_000)
                / variables.shards())
    }

    /// Says for an operator that no message can be sent, and where to look.
    ///
    /// - Parameter reason: why, such as `ECONNREFUSED`, or that no access token is available.
    package func noConnection(_ reason: String) -> String {
        guard reason != Self.refusedToken else { return reason }
        guard reason.hasPrefix(Self.noToken) else {
            return "no connection to FCM at \(address.fault(reason, authorities: "FCM_CA_FILE"))"
        }
        let rest = String(reason.dropFirst(Self.noToken.count))
        let fault = account.tokenAddress.fault(rest, authorities: "FCM_CA_FILE")
        return "no access token for FCM from \(fault)"
    }

    /// How the reason begins if no access token is available.
    package static let noToken = "no access token: "

    /// The reason if FCM refuses an access token, and the one that replaced it.
    package static let refusedToken = "FCM refuses a new access token"

    /// Identifies these settings. A message that is refused with some settings may be accepted with others.
    package var fingerprint: String { digest([address.authority]) }

    /// The name of the document with the access token that all processes share: letters, digits and `-`.
    package var tokenDocument: String { "fcm-\(digest([]))" }

    private func digest(_ more: [String]) -> String {
        let account = account
        let whole =
            [
                account.key.fingerprint, account.keyID, account.clientEmail, account.projectID,
                account.tokenURI,
            ] + more
        return hex(Array(SHA256.hash(Array(whole.joined(separator: " ").utf8)).prefix(8)))
    }

    /// - Parameter text: a path, or the account's JSON.
    private static func account(
        _ text: String, _ variables: Variables
    ) throws(Failure) -> ServiceAccount {
        let name = "FCM_SERVICE_ACCOUNT"
        var (holder, bytes) = ("the value", json(in: text))
        if bytes == nil {
            let file = try variables.operatorFile(
                name, ifMissing: ": set it to the service account's JSON file")
            (holder, bytes) = ("the file \(text)", file?.contents)
        }
        do throws(Failure) { return try ServiceAccount(bytes ?? []) } catch {
            throw variables.wrong(name, "\(holder) \(error.sentence)")
        }
    }

    /// The JSON object in a value, without what often comes with it from a shell, a YAML block or an editor:
    /// white space, a byte order mark and quotation marks around it.
    ///
    /// - Returns: `nil` if the value does not begin with `{` then.
    private static func json(in text: String) -> [UInt8]? {
        var bytes = Array(text.utf8)[...]
        while true {
            bytes = bytes.drop(while: isSpace)
            while let last = bytes.last, isSpace(last) { bytes.removeLast() }
            if bytes.starts(with: byteOrderMark) {
                bytes = bytes.dropFirst(byteOrderMark.count)
                continue
            }
            guard let mark = bytes.first, bytes.count > 1, bytes.last == mark,
                mark == UInt8(ascii: "\"") || mark == UInt8(ascii: "'")
            else { break }
            bytes = bytes.dropFirst().dropLast()
        }
        return bytes.first == UInt8(ascii: "{") ? Array(bytes) : nil
    }
}

/// U+FEFF in UTF-8.
private let byteOrderMark: [UInt8] = [0xef, 0xbb, 0xbf]

/// JSON's white space (RFC 8259 section 2).
private func isSpace(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x09 || byte == 0x0a || byte == 0x0d
}

import Crypto
import Signatures
import Turnstone
import Unix

/// How to reach APNs and the credentials to use there, from the `APNS_…` variables.
package struct APNsSettings {
    package let key: ES256PrivateKey
    package let keyID: String
    package let teamID: String
    package let bundleID: String
    /// The environment of devices that name none.
    package let environment: APNsEnvironment
    /// The path of a file with certificates to trust instead of the system's.
    package let authorities: String?
    private let gateway: Address?
    private let developmentGateway: Address?
    private let management: Address?
    private let developmentManagement: Address?

    package typealias Address = GatewayAddress

    /// - Returns: `nil` if no credential is set. Pushes are then written to files.
    /// - Throws: misconfigured, with the name of the variable, and of the file if one is at fault.
    @export(interface)
    package init?(_ variables: Variables) throws(Failure) {
        environment = try Self.environment(variables)
        guard variables.namesPushService else { return nil }
        key = try Self.key(variables)
        keyID = try Self.identifier("APNS_KEY_ID", variables)
        teamID = try Self.identifier("APNS_TEAM_ID", variables)
        bundleID = try Self.bundle(variables)
        gateway = try Self.gateway("APNS_BASE_URL", variables)
        developmentGateway = try Self.gateway("APNS_DEVELOPMENT_BASE_URL", variables) ?? gateway
        management = try Self.gateway("APNS_MANAGEMENT_BASE_URL", variables)
        developmentManagement =
            try Self.gateway("APNS_DEVELOPMENT_MANAGEMENT_BASE_URL", variables) ?? management
        authorities = try CertificateFile.path(in: variables, "APNS_CA_FILE")
    }

    /// The gateway for an environment's pushes.
    package func address(of environment: APNsEnvironment) -> Address {
        switch environment {
        case .development:
            developmentGateway ?? Address(host: "api.sandbox.push.apple.com", port: 443)
        case .production: gateway ?? Address(host: "api.push.apple.com", port: 443)
        }
    }

    /// The address where an environment's broadcast channels are managed.
    ///
    /// - Throws: misconfigured if none is set and pushes go to another gateway than Apple's: Apple must not
    ///   hear of a stand-in's channels.
    @export(interface)
    package func managementAddress(of environment: APNsEnvironment) throws(Failure) -> Address {
        let isDevelopment = environment == .development
        if let known = isDevelopment ? developmentManagement : management { return known }
        guard (isDevelopment ? developmentGateway : gateway) == nil else {
            throw .misconfigured(
                """
                unable to manage channels: pushes do not go to Apple's gateway (APNS_BASE_URL, \
                APNS_DEVELOPMENT_BASE_URL); set APNS_MANAGEMENT_BASE_URL too
                """
            )
        }
        return isDevelopment
            ? Address(host: "api-manage-broadcast.sandbox.push.apple.com", port: 2195)
            : Address(host: "api-manage-broadcast.push.apple.com", port: 2196)
    }

    /// Identifies these settings. A push that is refused with some settings may be accepted with others.
    package var fingerprint: String {
        let addresses = [gateway, developmentGateway].map { $0?.authority ?? "" }
        let whole = [key.fingerprint, keyID, teamID, bundleID, environment.rawValue] + addresses
        return hex(Array(SHA256.hash(Array(whole.joined(separator: " ").utf8)).prefix(8)))
    }

    /// Says for an operator that there is no connection for pushes, and what to check.
    ///
    /// - Parameter reason: why the connection failed, such as `ECONNREFUSED` or OpenSSL's words.
    package func noConnection(_ reason: String) -> String {
        "no connection to the push service at \(address(of: environment).fault(reason))"
    }

    // MARK: The variables, one by one

    /// `APNS_ENVIRONMENT`, or `APNS_DEVELOPMENT`; development if neither is set.
    @export(interface)
    package static func environment(_ variables: Variables) throws(Failure) -> APNsEnvironment {
        if let name = variables.text("APNS_ENVIRONMENT") {
            guard let environment = APNsEnvironment(rawValue: name) else {
                throw variables.wrong("APNS_ENVIRONMENT", "must be development or production")
            }
            return environment
        }
        return try variables.flag("APNS_DEVELOPMENT", standard: true) ? .development : .production
    }

    private static func key(_ variables: Variables) throws(Failure) -> ES256PrivateKey {
        if let file = try variables.operatorFile("APNS_KEY_PATH") {
            return try key(file.contents, "APNS_KEY_PATH", "the file \(file.path)", variables)
        }
        guard let text = variables.text("APNS_KEY") else {
            throw variables.wrong(
                "APNS_KEY_PATH", "set it to the .p8 file, or APNS_KEY to its base64")
        }
        guard let bytes = base64Decoded(text) else {
            throw variables.wrong(
                "APNS_KEY", "must be the base64 of a .p8 file. Run: base64 -w0 FILE")
        }
        return try key(bytes, "APNS_KEY", "the value", variables)
    }

    private static func key(
        _ pem: [UInt8], _ name: String, _ holder: String, _ variables: Variables
    ) throws(Failure) -> ES256PrivateKey {
        do throws(Failure) { return try ES256PrivateKey(pem: pem) } catch {
            throw variables.wrong(
                name, "\(holder) must hold a P-256 private key in PEM form, as Apple's .p8 does")
        }
    }

    /// Reads the id of a key or of a team, as Apple assigns them.
    private static func identifier(
        _ name: String, _ variables: Variables
    ) throws(Failure) -> String {
        guard let text = variables.text(name), text.utf8.count == 10,
            text.utf8.allSatisfy(isLetterOrDigit)
        else {
            throw variables.wrong(
                name, "must be the id from Apple's developer account, 10 letters and digits")
        }
        return text
    }

    private static func bundle(_ variables: Variables) throws(Failure) -> String {
        let marks = [UInt8(ascii: "."), UInt8(ascii: "-")]
        guard let text = variables.text("APNS_BUNDLE_ID"), text.utf8.count <= 155,
            text.utf8.allSatisfy({ isLetterOrDigit($0) || marks.contains($0) })
        else {
            throw variables.wrong(
                "APNS_BUNDLE_ID", "must be the app's bundle id, such as org.example.app")
        }
        return text
    }

    private static func gateway(
        _ name: String, _ variables: Variables
    ) throws(Failure) -> Address? {
        try Address.named(name, variables)
    }
}

func isLetterOrDigit(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
        UInt8(ascii: "A")...UInt8(ascii: "Z"):
        true
    default: false
    }
}

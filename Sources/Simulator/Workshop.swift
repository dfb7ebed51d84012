import HTTP2
import HTTP2Server
import Signatures
import Turnstone
import Unix

/// The folder with the files that both sides need: certificates, and APNs' keys.
struct Workshop {
    let folder: String
    let bundle: String
    let team = "TURNSTONE1"
    let keyID = "SIMULATOR1"

    var authority: String { "\(folder)/ca.pem" }
    var certificate: String { "\(folder)/server.pem" }
    var certificateKey: String { "\(folder)/server-key.pem" }

    /// Creates missing files.
    init(folder: String, bundle: String) throws(Failure) {
        var path = folder
        while path.utf8.count > 1, path.hasSuffix("/") { path.removeLast() }
        if !path.hasPrefix("/") {
            path = (Files.target(ofLink: "/proc/self/cwd") ?? ".") + "/" + path
        }
        self.folder = path
        self.bundle = bundle
        try systemCalls(Files.makeFolder(path))
        let isComplete = try systemCalls { () throws(SystemError) in
            for file in [authority, certificate, certificateKey] where try !Files.exists(file) {
                return false
            }
            return true
        }
        if !isComplete {
            let made = try ServerCertificate()
            try write(made.authority, to: authority)
            try write(made.certificate, to: certificate)
            try write(made.key, to: certificateKey)
        }
    }

    func keyPath(_ id: String) -> String { "\(folder)/AuthKey_\(id).p8" }

    /// Returns the public half of a key, which is created if missing.
    func publicKey(_ id: String) throws(Failure) -> ES256PublicKey {
        let path = keyPath(id)
        let text = try systemCalls(Files.contents(path))
        if let text { return try ES256PrivateKey(pem: text).publicKey }
        let made = try ES256PrivateKey.generate()
        try write(made.pem, to: path)
        return made.publicKey
    }

    /// Writes the variables that direct Turnstone here, as lines `NAME=value`.
    func writeEnvironment(
        ogs: String, apns: String, management: String, environment: String
    ) throws(Failure) {
        let lines = [
            "OGS_BASE_URL=\(ogs)", "OGS_CA_FILE=\(authority)", "OGS_REQUESTS_PER_SECOND=1000",
            "APNS_BASE_URL=\(apns)", "APNS_MANAGEMENT_BASE_URL=\(management)",
            "APNS_CA_FILE=\(authority)",
            "APNS_KEY_PATH=\(keyPath(keyID))", "APNS_KEY_ID=\(keyID)", "APNS_TEAM_ID=\(team)",
            "APNS_BUNDLE_ID=\(bundle)", "APNS_ENVIRONMENT=\(environment)",
        ]
        let text = lines.map { $0 + "\n" }.joined()
        try write(Array(text.utf8), to: environmentPath)
    }

    var environmentPath: String { "\(folder)/simulator.env" }

    private func write(_ bytes: [UInt8], to path: String) throws(Failure) {
        try systemCalls(Files.replace(path, with: bytes, durably: false))
    }
}

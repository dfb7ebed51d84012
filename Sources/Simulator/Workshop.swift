import HTTP2Server
import JSON
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

    /// Google's project, and its service account.
    var project: String { "turnstone-simulator" }
    private var email: String { "simulator@\(project).iam.gserviceaccount.com" }
    private var accountKeyID: String { "0123456789abcdef0123456789abcdef01234567" }

    /// The service account's file.
    var accountPath: String { "\(folder)/service-account.json" }

    /// Returns the service account, and writes its file. Its key is created if missing.
    ///
    /// - Parameter address: where the token server is.
    func serviceAccount(at address: String) throws(Failure) -> AccessTokenBook.Account {
        let path = "\(folder)/service-account-key.pem"
        let known = try systemCalls(Files.contents(path))
        let key: RS256PrivateKey
        if let known {
            key = try RS256PrivateKey(pem: known)
        } else {
            key = try RS256PrivateKey.generate()
            try write(key.pem, to: path)
        }
        let uri = address + AccessTokenBook.path
        let account: JSONValue = [
            "type": "service_account", "project_id": .string(project),
            "private_key_id": .string(accountKeyID),
            "private_key": .string(String(decoding: key.pem, as: UTF8.self)),
            "client_email": .string(email), "client_id": "1", "token_uri": .string(uri),
        ]
        try write(JSON.text(account), to: accountPath)
        return AccessTokenBook.Account(
            email: email, keyID: accountKeyID, publicKey: try RS256PublicKey(pem: key.publicPEM),
            tokenURI: uri)
    }

    /// Writes the variables that direct Turnstone here, as lines `NAME=value`.
    ///
    /// - Parameter pushServices: the lines for these.
    func writeEnvironment(ogs: String, pushServices: [String]) throws(Failure) {
        let lines = [
            "OGS_BASE_URL=\(ogs)", "OGS_CA_FILE=\(authority)", "OGS_REQUESTS_PER_SECOND=1000",
        ]
        let text = (lines + pushServices).map { $0 + "\n" }.joined()
        try write(Array(text.utf8), to: environmentPath)
    }

    var environmentPath: String { "\(folder)/simulator.env" }

    private func write(_ bytes: [UInt8], to path: String) throws(Failure) {
        try systemCalls(Files.replace(path, with: bytes, durably: false))
    }
}

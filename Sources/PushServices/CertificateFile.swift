import Signatures
import Turnstone

/// A file with certificates to trust instead of the system's, named by a variable.
package enum CertificateFile {
    /// The file's path; `nil` if the variable is not set.
    ///
    /// - Throws: misconfigured, with the names of the variable and the file, if the file cannot be read or
    ///   holds no certificate.
    @export(interface)
    package static func path(
        in variables: Variables, _ name: String
    ) throws(Failure) -> String? {
        guard let path = variables.text(name) else { return nil }
        let bytes = try variables.contents(of: path, name)
        guard Certificates.count(inPEM: bytes) > 0 else {
            throw variables.wrong(name, "the file \(path) must hold certificates in PEM form")
        }
        return path
    }
}

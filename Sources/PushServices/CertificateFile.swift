import Signatures
import Turnstone
import Unix

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
        guard let file = try variables.operatorFile(name) else { return nil }
        guard Certificates.count(inPEM: file.contents) > 0 else {
            throw variables.wrong(name, "the file \(file.path) must hold certificates in PEM form")
        }
        return file.path
    }
}

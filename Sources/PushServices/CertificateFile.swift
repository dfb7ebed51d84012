import Signatures
import Turnstone
import Unix

/// A file with the certificates that are trusted in the place of the system's, as a variable names it.
package enum CertificateFile {
    /// The file's path; `nil` where the variable is not set.
    ///
    /// - Throws: a sentence that names the variable and the file that holds no certificate.
    package static func path(
        in variables: Variables, _ name: String
    ) throws(Failure) -> String? {
        guard let path = variables.text(name) else { return nil }
        let bytes: [UInt8]?
        do throws(SystemError) { bytes = try Files.contents(ofOperatorFile: path) } catch {
            throw variables.wrong(
                name, "cannot read the file \(path): \(error.errno.reasonForFile)")
        }
        guard let bytes else { throw variables.wrong(name, "there is no file \(path)") }
        guard Certificates.count(inPEM: bytes) > 0 else {
            throw variables.wrong(name, "the file \(path) must hold certificates in PEM form")
        }
        return path
    }
}

import Turnstone
import Unix

extension OGSClient {
    /// The address of OGS and how this installation identifies itself. Cheap to make, so that a wrong
    /// configuration is found before anybody is looked at.
    package struct Settings {
        let base: String
        let authorities: String?
        /// The product's name, and a contact if there is one.
        let userAgent: String

        /// - Throws: misconfigured, naming the wrong variable: `OGS_BASE_URL`, `OGS_CA_FILE` or
        ///   `OGS_CONTACT`.
        package init(_ variables: Variables) throws(Failure) {
            base = try variables.ogsAddress().text
            authorities = variables.text("OGS_CA_FILE")
            let contact = try variables.ogsContact()
            userAgent = "Turnstone/1.0" + (contact.map { " (+\($0))" } ?? "")
            guard let authorities else { return }
            // Checked before libcurl reads the file, because libcurl would wait for a FIFO.
            var isThere = false
            do throws(SystemError) { isThere = try Files.checkOperatorFile(authorities) } catch {
                throw variables.wrong(
                    "OGS_CA_FILE",
                    "cannot read the file \(authorities): \(error.reasonForFile)")
            }
            guard isThere else {
                throw variables.wrong("OGS_CA_FILE", "the file \(authorities) does not exist")
            }
        }
    }
}

import Turnstone
import Unix

extension OGSClient {
    /// Where OGS is, and who asks it. Cheap to make: a wrong configuration is found out before anybody is looked at.
    package struct Settings {
        let base: String
        let authorities: String?
        /// Names the product, and a contact where there is one.
        let userAgent: String

        /// - Throws: a sentence that names the variable (`OGS_BASE_URL`, `OGS_CA_FILE`, `OGS_CONTACT`) that is wrong.
        package init(_ variables: Variables) throws(Failure) {
            base = try variables.ogsAddress().text
            authorities = variables.text("OGS_CA_FILE")
            let contact = try variables.ogsContact()
            userAgent = "Turnstone/1.0" + (contact.map { " (+\($0))" } ?? "")
            guard let authorities else { return }
            // Before libcurl reads it: it would wait for a FIFO.
            var isThere = false
            do throws(SystemError) { isThere = try Files.isReadable(authorities) } catch {
                throw variables.wrong(
                    "OGS_CA_FILE",
                    "cannot read the file \(authorities): \(error.errno.reasonForFile)")
            }
            guard isThere else {
                throw variables.wrong("OGS_CA_FILE", "there is no file \(authorities)")
            }
        }
    }
}

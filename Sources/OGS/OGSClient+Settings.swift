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
            let contact = try variables.ogsContact()
            userAgent = "Turnstone/1.0" + (contact.map { " (+\($0))" } ?? "")
            // Read before libcurl reads it, because libcurl would wait for a FIFO.
            authorities = try variables.operatorFile("OGS_CA_FILE")?.path
        }
    }
}

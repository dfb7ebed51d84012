import Turnstone
import Unix

extension OGSClient {
    /// Where OGS is. Cheap to make: a wrong configuration is found out before anybody is looked at.
    package struct Settings {
        let base: String
        let authorities: String?

        /// - Throws: a sentence that names the variable (`OGS_BASE_URL`, `OGS_CA_FILE`) that is wrong.
        package init(_ variables: Variables) throws(Failure) {
            base = try Self.base(variables)
            authorities = variables.text("OGS_CA_FILE")
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

        private static func base(_ variables: Variables) throws(Failure) -> String {
            let text = variables.text("OGS_BASE_URL") ?? "https://online-go.com"
            let bytes = Array(text.utf8)
            let scheme = ["https://", "http://"].first { bytes.starts(with: $0.utf8) }
            guard let scheme, let host = bytes.dropFirst(scheme.utf8.count).first,
                host != UInt8(ascii: "/"), host != UInt8(ascii: ":"),
                bytes.allSatisfy({
                    $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#")
                })
            else {
                throw variables.wrong(
                    "OGS_BASE_URL", "must be an address such as https://online-go.com")
            }
            return bytes.last == UInt8(ascii: "/") ? String(text.dropLast()) : text
        }
    }
}

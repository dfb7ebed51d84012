import Turnstone
import Unix

extension Variables {
    /// The content of a file that a variable names.
    ///
    /// - Parameter advice: what the sentence says after the name of a file that is not there.
    /// - Throws: misconfigured, with the names of the variable and the file.
    func contents(
        of path: String, _ name: String, ifMissing advice: String = ""
    ) throws(Failure) -> [UInt8] {
        do throws(SystemError) {
            if let bytes = try Files.contents(ofOperatorFile: path) { return bytes }
        } catch {
            throw wrong(name, "cannot read the file \(path): \(error.reasonForFile)")
        }
        throw wrong(name, "the file \(path) does not exist\(advice)")
    }
}

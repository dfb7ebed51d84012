import Turnstone

extension Variables {
    /// The file that a variable names, and its content; `nil` if the variable is unset or empty.
    ///
    /// - Parameter advice: what the sentence says after the name of a file that is not there.
    /// - Throws: misconfigured, with the names of the variable and the file, and without the value unless
    ///   it is plainly a path: it may be a key.
    @export(interface)
    package func operatorFile(
        _ name: String, ifMissing advice: String = ""
    ) throws(Failure) -> (path: String, contents: [UInt8])? {
        guard let path = try path(name) else { return nil }
        do throws(SystemError) {
            if let bytes = try Files.contents(ofOperatorFile: path) { return (path, bytes) }
        } catch {
            try checkIsNoKey(path, in: name, after: error)
            throw wrong(name, "cannot read the file \(path): \(error.reasonForFile)")
        }
        try checkIsNoKey(path, in: name)
        throw wrong(name, "the file \(path) does not exist\(advice)")
    }

    /// Throws if a path that cannot be read may be a key. An absolute path is no key if something of that name, or
    /// a folder on the way there, exists. A relative one shows nothing: if the current folder cannot be entered, each
    /// of them fails.
    @export(interface)
    package func checkIsNoKey(
        _ path: String, in name: String, after error: SystemError
    ) throws(Failure) {
        let isFound =
            error.call != "open"
            || [.noAccess, .notPermitted, .invalid, .isFolder, .loop].contains(error.errno)
        if isFound, path.utf8.starts(with: "/".utf8) { return }
        try checkIsNoKey(path, in: name)
    }
}

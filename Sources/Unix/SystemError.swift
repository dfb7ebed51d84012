import Turnstone

/// A failed system call: its name, the path that it was used on, and the error number.
package struct SystemError: Error, Equatable, Sendable {
    package let call: String
    package let path: String
    package let errno: Errno

    package init(_ call: String, _ path: String, _ errno: Errno = .current) {
        self.call = call
        self.path = path
        self.errno = errno
    }

    /// Why the call failed, in words if the reason is the file's kind or owner.
    package var reason: String {
        switch (call, errno) {
        case ("open", .isFolder): "it is a folder (EISDIR)"
        case ("open", .invalid): "it is not a regular file (EINVAL)"
        case ("open", .noAccess), ("list", .noAccess):
            noAccessReason
        default: errno.name
        }
    }

    /// Names our account and the file's owner and, if they differ, the command that gives us access.
    private var noAccessReason: String {
        let account = Accounts.name(of: ThisProcess.user)
        guard let owner else { return "\(account) has no access to its folder (EACCES)" }
        guard owner != ThisProcess.user else {
            return "its mode gives its owner, \(account), no access (EACCES)"
        }
        var folder: String?
        do throws(SystemError) { folder = try UnusableFiles.stateFolder(above: path) } catch {}
        let command = folder.map { "chown -R \(account): \($0)" } ?? "chown \(account) \(path)"
        return "not accessible to \(account) (EACCES, owned by \(Accounts.name(of: owner)))."
            + " Run: \(command)"
    }

    private var owner: UInt32? {
        do throws(SystemError) { return try Files.owner(of: path)?.user } catch { return nil }
    }

    /// The failure that crosses a module's boundary. It may be retried if the cause is temporary.
    package var failure: Failure {
        Failure(
            errno.isTemporary ? .later(seconds: 5) : .broken,
            "unable to \(call) \(path): \(reason)", cause: errno.name,
            file: errno.isFileSpecific || errno == .inputOutput ? path : nil)
    }
}

/// Runs a system call and turns its error into a failure, which crosses a module's boundary: `try
/// systemCalls(Files.names(in: folder))`.
package func systemCalls<Result>(
    _ work: @autoclosure () throws(SystemError) -> Result
) throws(Failure) -> Result {
    do throws(SystemError) { return try work() } catch { throw error.failure }
}

/// The same for several statements.
package func systemCalls<Result>(
    _ work: () throws(SystemError) -> Result
) throws(Failure) -> Result {
    do throws(SystemError) { return try work() } catch { throw error.failure }
}

/// Repeats a call while signals interrupt it. A negative result is a failure.
func retried<Result: SignedInteger>(_ call: () -> Result) -> Result {
    while true {
        let result = call()
        if result >= 0 || Errno.current != .interrupted { return result }
    }
}

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

    /// Why the call failed, in words and with the error's name.
    package var reason: String {
        switch (call, errno) {
        case ("open", .invalid): "it is not a regular file (EINVAL)"
        case ("make folder", .noEntry): "no folder can be made there (ENOENT)"
        case ("open", .noAccess), ("list", .noAccess), ("find", .noAccess),
            ("make folder", .noAccess), ("rename", .noAccess):
            noAccessReason
        default: errno.reason
        }
    }

    /// The same for a file that an operator writes.
    package var reasonForFile: String {
        switch errno {
        case .tooLarge: "it is larger than 1 MiB"
        case .notAFile: "it is not a regular file"
        case .isFolder: "it is a folder"
        default: reason
        }
    }

    /// The same for a folder that an operator names.
    package var reasonForFolder: String {
        switch errno {
        case .noEntry: "it does not exist"
        case .notDirectory: "it is not a folder"
        case .loop: "it is a link that leads back to itself"
        default: reason
        }
    }

    /// Names our account, what it has no access to, its owner and, as far as that is clear, the command that
    /// gives us access.
    private var noAccessReason: String {
        let account = Accounts.name(of: ThisProcess.user)
        var place = path
        var owner = Self.owner(of: place)
        while owner == nil, place.utf8.count > 1 {
            place = Files.parent(of: place)
            owner = Self.owner(of: place)
        }
        let isFile = place == path
        guard let owner, owner != ThisProcess.user else {
            var isFolder = true
            do throws(SystemError) { isFolder = try Files.exists("\(place)/.") } catch {}
            let mode = isFolder ? "u+rwx \(place)" : "u+rw \(place)"
            return
                """
                \(isFile ? "its mode" : "the mode of the folder \(place)") gives its owner, \(account), \
                no access (EACCES). Run: chmod \(mode)
                """
        }
        let name = Accounts.name(of: owner)
        let start =
            isFile
            ? "the account \(account) has no access to it (EACCES, owned by \(name))."
            : "the account \(account) has no access to the folder \(place) (EACCES, owned by \(name))."
        var folder: String?
        do throws(SystemError) { folder = try UnusableFiles.stateFolder(above: path) } catch {}
        if let folder { return "\(start) \(ThisProcess.remedy(inState: folder))" }
        // The folder may be anybody's, such as /root. Only the caller knows whether it should be ours.
        return isFile
            ? "\(start) Run: chown \(ThisProcess.account) \(place)"
            : "\(start) Give \(account) access to it, or use another folder"
    }

    /// The same in the state folder of this path, which this account should own.
    @export(interface)
    package func reason(inState folder: String) -> String {
        let owner = Self.owner(of: folder)
        guard errno == .noAccess, let owner, owner != ThisProcess.user else { return reason }
        let account = Accounts.name(of: ThisProcess.user)
        return
            """
            the account \(account) has no access to the state folder \(folder) (EACCES, owned by \
            \(Accounts.name(of: owner))). \(ThisProcess.remedy(inState: folder))
            """
    }

    private static func owner(of path: String) -> UInt32? {
        do throws(SystemError) { return try Files.owner(of: path)?.user } catch { return nil }
    }

    /// The failure that crosses a module's boundary. It may be retried if the cause is temporary.
    package var failure: Failure { failure(reason) }

    /// The same with another account of the reason.
    @export(interface)
    package func failure(_ reason: String) -> Failure {
        Failure(
            errno.isTemporary ? .later(seconds: 5) : .broken,
            "unable to \(call) \(path): \(reason)", cause: errno.name,
            file: errno.concernsOneFile ? path : nil)
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

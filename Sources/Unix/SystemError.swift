import CUnix
import Turnstone

/// A system call's error number (errno(3)).
package struct Errno: Equatable, Sendable {
    package let rawValue: Int32

    package init(rawValue: Int32) {
        self.rawValue = rawValue
    }

    /// What the last failed call left behind. Read it immediately.
    package static var current: Errno { Errno(rawValue: cunix_errno()) }

    package static let noEntry = Errno(rawValue: ENOENT)
    package static let exists = Errno(rawValue: EEXIST)
    package static let interrupted = Errno(rawValue: EINTR)
    package static let wouldBlock = Errno(rawValue: EWOULDBLOCK)
    package static let notDirectory = Errno(rawValue: ENOTDIR)
    package static let notSupported = Errno(rawValue: EOPNOTSUPP)
    package static let notEmpty = Errno(rawValue: ENOTEMPTY)
    package static let nameTooLong = Errno(rawValue: ENAMETOOLONG)
    package static let noAccess = Errno(rawValue: EACCES)
    package static let isFolder = Errno(rawValue: EISDIR)
    package static let loop = Errno(rawValue: ELOOP)
    package static let invalid = Errno(rawValue: EINVAL)
    package static let inputOutput = Errno(rawValue: EIO)
    package static let tooLarge = Errno(rawValue: EFBIG)
    package static let badDescriptor = Errno(rawValue: EBADF)
    package static let timedOut = Errno(rawValue: ETIMEDOUT)
    /// What can be read once at the most, such as a FIFO, and is no file.
    package static let isNoFile = Errno(rawValue: ESPIPE)

    /// Whether the process at the other end has gone.
    package var isBrokenPipe: Bool {
        [EPIPE, ECONNRESET, ECONNABORTED, ENOTCONN, ETIMEDOUT, EHOSTUNREACH, ENETUNREACH].contains(
            rawValue)
    }

    /// Whether the same call may succeed soon, after room was made or load has gone.
    package var isTemporary: Bool {
        switch rawValue {
        case ENOSPC, EDQUOT, EIO, EROFS, EMFILE, ENFILE, ENOMEM, EAGAIN, EINTR, ETIMEDOUT, ESTALE,
            ENOLCK, ENOBUFS, EBUSY, ETXTBSY:
            true
        default: false
        }
    }

    /// Whether it is the fault of the one file that was to be read: another one may be readable.
    package var isOfTheFile: Bool {
        switch rawValue {
        case EACCES, EPERM, EISDIR, EINVAL, ELOOP, ENXIO, ENODEV, ENOTDIR, EFBIG, EOVERFLOW, ESPIPE,
            EBADMSG, EUCLEAN:
            true
        default: false
        }
    }

    /// The manual's name, such as `ENOSPC`. C: `strerrorname_np(3)`.
    package var name: String {
        guard let name = strerrorname_np(rawValue) else { return "errno \(rawValue)" }
        return String(cString: name)
    }
}

extension Errno {
    /// Why a folder that a person has named cannot be used, for that person.
    package var reasonForFolder: String {
        switch self {
        case .noEntry: "there is none"
        case .notDirectory: "it is not a folder"
        case .loop: "it is a link that leads back to itself"
        default: name
        }
    }

    /// Why a file that a person has written cannot be used, for that person.
    package var reasonForFile: String {
        switch self {
        case .tooLarge: "it has more than a megabyte"
        case .isNoFile: "it is not a regular file"
        case .isFolder: "it is a folder"
        default: name
        }
    }
}

/// A failed system call: which, on what, and why.
package struct SystemError: Error, Equatable, Sendable {
    package let call: String
    package let path: String
    package let errno: Errno

    package init(_ call: String, _ path: String, _ errno: Errno = .current) {
        self.call = call
        self.path = path
        self.errno = errno
    }

    /// Why, with what the number means where it is about the kind of the file.
    package var reason: String {
        switch (call, errno) {
        case ("open", .isFolder): "it is a folder (EISDIR)"
        case ("open", .invalid): "it is not a regular file (EINVAL)"
        case ("open", .noAccess), ("list", .noAccess):
            errno.name + (owner.map { ", owned by uid \($0)" } ?? "")
        default: errno.name
        }
    }

    private var owner: UInt32? {
        do throws(SystemError) { return try Files.owner(of: path)?.user } catch { return nil }
    }

    /// The failure that crosses a module's boundary: worth trying again where the cause may pass.
    package var failure: Failure {
        Failure(
            errno.isTemporary ? .later(seconds: 5) : .broken,
            "unable to \(call) \(path): \(reason)", cause: errno.name,
            file: errno.isOfTheFile || errno == .inputOutput ? path : nil)
    }
}

/// Turns the errors of system calls into failures, which cross a module's boundary: `try systemCalls(Files.names(in: folder))`.
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

/// Calls again while a signal interrupts. A negative result is a failure.
func retried<Result: SignedInteger>(_ call: () -> Result) -> Result {
    while true {
        let result = call()
        if result >= 0 || Errno.current != .interrupted { return result }
    }
}

import CUnix

/// A system call's error number (errno(3)).
package struct Errno: Equatable, Sendable {
    package let rawValue: Int32

    package init(rawValue: Int32) {
        self.rawValue = rawValue
    }

    /// The error number of the last failed call. Read it immediately.
    package static var current: Errno { Errno(rawValue: cunix_errno()) }

    package static let noEntry = Errno(rawValue: ENOENT)
    package static let exists = Errno(rawValue: EEXIST)
    package static let interrupted = Errno(rawValue: EINTR)
    package static let wouldBlock = Errno(rawValue: EWOULDBLOCK)
    package static let notDirectory = Errno(rawValue: ENOTDIR)
    package static let notSupported = Errno(rawValue: EOPNOTSUPP)
    package static let notEmpty = Errno(rawValue: ENOTEMPTY)
    package static let noAccess = Errno(rawValue: EACCES)
    package static let isFolder = Errno(rawValue: EISDIR)
    package static let loop = Errno(rawValue: ELOOP)
    package static let invalid = Errno(rawValue: EINVAL)
    package static let inputOutput = Errno(rawValue: EIO)
    package static let tooLarge = Errno(rawValue: EFBIG)
    package static let badDescriptor = Errno(rawValue: EBADF)
    package static let timedOut = Errno(rawValue: ETIMEDOUT)
    /// Not a file that can be read again, such as a FIFO.
    package static let notAFile = Errno(rawValue: ESPIPE)

    /// Whether the peer has gone.
    package var isBrokenPipe: Bool {
        [EPIPE, ECONNRESET, ECONNABORTED, ENOTCONN, ETIMEDOUT, EHOSTUNREACH, ENETUNREACH].contains(
            rawValue)
    }

    /// Whether the same call may succeed soon, when there is space again or the load has passed.
    package var isTemporary: Bool {
        switch rawValue {
        case ENOSPC, EDQUOT, EIO, EROFS, EMFILE, ENFILE, ENOMEM, EAGAIN, EINTR, ETIMEDOUT, ESTALE,
            ENOLCK, ENOBUFS, EBUSY, ETXTBSY:
            true
        default: false
        }
    }

    /// Whether only the file that was used is at fault: another one may be readable.
    package var isFileSpecific: Bool {
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
    /// Tells an operator why a folder cannot be used.
    package var reasonForFolder: String {
        switch self {
        case .noEntry: "it does not exist"
        case .notDirectory: "it is not a folder"
        case .loop: "it is a link that leads back to itself"
        default: name
        }
    }

    /// Tells an operator why a file of the operator's cannot be used.
    package var reasonForFile: String {
        switch self {
        case .tooLarge: "it is larger than \(Files.longestOfOperator >> 20) MiB"
        case .notAFile: "it is not a regular file"
        case .isFolder: "it is a folder"
        default: name
        }
    }
}

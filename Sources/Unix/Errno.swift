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
    package static let stale = Errno(rawValue: ESTALE)
    package static let exists = Errno(rawValue: EEXIST)
    package static let interrupted = Errno(rawValue: EINTR)
    package static let wouldBlock = Errno(rawValue: EWOULDBLOCK)
    package static let notDirectory = Errno(rawValue: ENOTDIR)
    package static let notSupported = Errno(rawValue: EOPNOTSUPP)
    package static let notEmpty = Errno(rawValue: ENOTEMPTY)
    package static let noAccess = Errno(rawValue: EACCES)
    package static let notPermitted = Errno(rawValue: EPERM)
    package static let noSpace = Errno(rawValue: ENOSPC)
    package static let readOnly = Errno(rawValue: EROFS)
    package static let isFolder = Errno(rawValue: EISDIR)
    package static let loop = Errno(rawValue: ELOOP)
    package static let invalid = Errno(rawValue: EINVAL)
    package static let inputOutput = Errno(rawValue: EIO)
    package static let tooLarge = Errno(rawValue: EFBIG)
    package static let badDescriptor = Errno(rawValue: EBADF)
    package static let aborted = Errno(rawValue: ECONNABORTED)
    package static let notConnected = Errno(rawValue: ENOTCONN)
    package static let timedOut = Errno(rawValue: ETIMEDOUT)
    package static let noProcess = Errno(rawValue: ESRCH)
    /// Not a file that can be read again, such as a FIFO.
    package static let notAFile = Errno(rawValue: ESPIPE)

    /// Whether the peer has gone.
    package var isBrokenPipe: Bool {
        [EPIPE, ECONNRESET, ECONNABORTED, ENOTCONN, ETIMEDOUT, EHOSTUNREACH, ENETUNREACH].contains(
            rawValue)
    }

    /// Whether the same call may succeed soon, when there is space again, the load has passed or a network
    /// file system is back.
    package var isTemporary: Bool {
        switch rawValue {
        case ENOSPC, EDQUOT, EIO, EROFS, EMFILE, ENFILE, ENOMEM, EAGAIN, EINTR, ETIMEDOUT, ESTALE,
            ENOLCK, ENOBUFS, EBUSY, ETXTBSY, ENOTCONN, ECONNABORTED:
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

    /// The same, also for a disk that fails in one place.
    package var concernsOneFile: Bool { isFileSpecific || self == .inputOutput }

    /// Whether it is what a network file system says of a file that another machine has just removed or
    /// replaced: ENOENT, NFS ESTALE, JuiceFS also EBADF.
    package var saysReplaced: Bool { [.stale, .noEntry, .badDescriptor].contains(self) }

    /// The manual's name, such as `ENOSPC`. C: `strerrorname_np(3)`.
    package var name: String {
        guard let name = strerrorname_np(rawValue) else { return "errno \(rawValue)" }
        return String(cString: name)
    }
}

extension Errno {
    /// The number's meaning and name, for an operator: `the disk is full (ENOSPC)`.
    package var reason: String {
        guard let meaning else { return name }
        return "\(meaning) (\(name))"
    }

    /// The same for a number that was recorded by its name; the name alone if it is another text.
    @export(interface)
    package static func reason(named name: String) -> String {
        for number in networkNumbers where Errno(rawValue: number).name == name {
            return Errno(rawValue: number).reason
        }
        return name
    }

    private static var networkNumbers: [Int32] {
        [
            ECONNREFUSED, ECONNRESET, ECONNABORTED, EPIPE, ETIMEDOUT, EHOSTUNREACH, ENETUNREACH,
            ENETDOWN, EMFILE, ENOMEM,
        ]
    }

    private var meaning: String? {
        switch rawValue {
        case EACCES: "no access"
        case EPERM: "the system does not permit it"
        case ENOENT: "it does not exist"
        case ENOTDIR: "a part of the path is not a folder"
        case EISDIR: "it is a folder"
        case ELOOP: "it is a link that leads back to itself"
        case ENAMETOOLONG: "the path is too long"
        case ESPIPE: "it is not a regular file"
        case EFBIG: "it is too large"
        case EEXIST: "it exists already"
        case ENOTEMPTY: "it is not empty"
        case EBUSY, ETXTBSY: "it is in use"
        case ENOSPC: "the disk is full"
        case EDQUOT: "the account's disk quota is used up"
        case EROFS: "the file system is read-only"
        case EIO: "the disk has failed"
        case ESTALE: "the file server does not know it any more"
        case EMFILE: "this process has too many open files"
        case ENFILE: "the system has too many open files"
        case ENOMEM: "there is no memory left"
        case ECONNREFUSED: "connection refused"
        case ECONNRESET: "the connection was reset"
        case ECONNABORTED, EPIPE: "the connection was closed"
        case ENOTCONN: "there is no connection"
        case ETIMEDOUT: "no answer in time"
        case EHOSTUNREACH: "no route to the host"
        case ENETUNREACH, ENETDOWN: "the network is unreachable"
        case EADDRINUSE: "the address is in use"
        default: nil
        }
    }
}

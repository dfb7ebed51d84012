import Turnstone
import Unix

/// A fault of one file, while others can be used.
enum Damage {
    /// It does not parse.
    static let corrupt = "corrupt"
    /// A newer program wrote it.
    static let newer = "newer"
    /// It cannot be opened: it belongs to another account, or is a folder or a FIFO.
    static let unreadable = "unreadable"
    /// Reading it failed (`EIO`). It may work later.
    static let faulty = "faulty"

    /// Whether a failure means that one file cannot be used.
    static func explains(_ failure: Failure) -> Bool {
        [corrupt, newer, unreadable, faulty].contains(failure.cause)
    }

    /// The failure of a system call that was to read one file.
    static func failure(_ error: SystemError) -> Failure {
        if error.errno.isFileSpecific {
            return Failure(
                .broken, "unable to read \(error.path): \(error.reason)", cause: unreadable,
                file: error.path)
        }
        guard error.errno == .inputOutput else { return error.failure }
        return Failure(
            .later(seconds: 5),
            "unable to read \(error.path): I/O error (\(error.errno.name)); check the disk",
            cause: faulty, file: error.path)
    }
}

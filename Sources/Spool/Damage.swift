import Turnstone
import Unix

/// What is wrong with one file, however sound the others are.
enum Damage {
    /// It does not parse.
    static let corrupt = "corrupt"
    /// A newer program wrote it.
    static let newer = "newer"
    /// It cannot be opened: another account's, a folder, a FIFO.
    static let unreadable = "unreadable"
    /// Reading it failed: it may work later.
    static let faulty = "faulty"

    /// Whether a failure says that one file cannot be used.
    static func explains(_ failure: Failure) -> Bool {
        [corrupt, newer, unreadable, faulty].contains(failure.cause)
    }

    /// The failure of a system call on one file that was to be read.
    static func failure(_ error: SystemError) -> Failure {
        if error.errno.isFileSpecific {
            return Failure(
                .broken, "unable to read \(error.path): \(error.reason)", cause: unreadable,
                file: error.path)
        }
        guard error.errno == .inputOutput else { return error.failure }
        return Failure(
            .later(seconds: 5), "unable to read \(error.path): \(error.errno.name)", cause: faulty,
            file: error.path)
    }
}

import Turnstone
import Unix

/// A fault of one file, while others can be used.
enum Damage {
    /// Whether a failure means that one file cannot be used.
    static func explains(_ failure: Failure) -> Bool {
        [
            FailureCause.corrupt, FailureCause.newer, FailureCause.unreadable, FailureCause.faulty,
        ].contains(failure.cause)
    }

    /// The failure of a system call that was to read one file.
    static func failure(_ error: SystemError) -> Failure {
        // In a folder that may be listed and not entered, nothing is wrong with the file.
        if error.errno == .noAccess, !Files.isFindable(error.path) {
            return Failure(
                .broken, "unable to read \(error.path): \(error.reason)",
                cause: FailureCause.faulty,
                file: Files.parent(of: error.path))
        }
        if error.errno.isFileSpecific {
            return Failure(
                .broken, "unable to read \(error.path): \(error.reason)",
                cause: FailureCause.unreadable,
                file: error.path)
        }
        guard error.errno == .inputOutput else { return error.failure }
        return Failure(
            .later(seconds: 5),
            "unable to read \(error.path): I/O error (\(error.errno.name)); check the disk",
            cause: FailureCause.faulty, file: error.path)
    }
}

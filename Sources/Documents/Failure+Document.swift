import Turnstone
import Unix

extension Failure {
    /// Whether one document is damaged, missing, older than it was, of a newer version or owned by another
    /// account, while others are usable.
    package var isDocumentSpecific: Bool {
        isFileSpecific || cause == FailureCause.corrupt || cause == FailureCause.stale
    }

    /// Records the unusable file for `health`. A damaged document is recorded when it is set aside.
    package func recordFile() {
        if let file { UnusableFiles.record(file, cause) }
    }
}

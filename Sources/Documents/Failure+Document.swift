import Turnstone
import Unix

extension Failure {
    /// Whether one document is damaged, missing, of a newer version or of another account, and the others are not.
    package var isOfOneDocument: Bool { isOfOneFile || cause == "corrupt" }

    /// Records the file that cannot be used, for `health`. A damaged one is recorded where it is set aside.
    package func noteFile() {
        if let file { UnusableFiles.note(file, cause) }
    }
}

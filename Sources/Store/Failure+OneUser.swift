import Documents
import Turnstone

extension Failure {
    /// Records the failure if it is of one user's document, which affects no other.
    ///
    /// - Throws: the failure if it is not.
    func recordIfOfOneUser() throws(Failure) {
        guard isDocumentSpecific || cause == FailureCause.busy else { throw self }
        recordFile()
    }
}

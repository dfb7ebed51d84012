import Documents
import Turnstone

extension Failure {
    /// Records the failure if it is of one document, a user's or an index, and affects no other.
    ///
    /// - Throws: the failure if it is not.
    func recordIfOfOneDocument() throws(Failure) {
        guard isDocumentSpecific || cause == FailureCause.busy else { throw self }
        recordFile()
    }
}

import Edge
import Spool
import Turnstone

extension Request {
    /// Where a page of a user's receipts begins: the `next` of the page before, in the query as `after`;
    /// `nil` for the newest receipts.
    package func receiptsPlace() throws(Failure) -> ReceiptHistory.Place? {
        guard let text = try query("after") else { return nil }
        guard let place = ReceiptHistory.Place(text) else {
            throw .malformed("after must be the next of an earlier answer")
        }
        return place
    }
}

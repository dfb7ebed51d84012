import Spool
import Store
import Turnstone

extension MessageRecord {
    /// A place before all of the message's receipts; `nil` if none was recorded.
    ///
    /// The place was recorded by the clock of its acceptance. If that clock was days ahead, receipts of now come
    /// before it.
    @export(interface)
    package func receiptsStart(at now: Timestamp) -> ReceiptsStart? {
        guard let recorded = ReceiptsStart(receipts) else { return nil }
        if CalendarDate(now).dayText < CalendarDate(accepted).dayText { return .beginning }
        return recorded.ofAcceptance(at: accepted)
    }
}

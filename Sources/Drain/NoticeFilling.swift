import Turnstone

/// The content of a turn notice, made just before it is sent.
enum NoticeFilling {
    /// It names the player's turns as they are now. `waiting` is the number of games that wait. A device that
    /// has accepted the notice `newest`, or a newer one, knows all of these turns.
    case turns(waiting: Int64, newest: Int64)
    /// It is not sent, for this reason.
    case nothing(ReceiptReason)
}

import Documents
import Spool
import Store
import Turnstone
import Unix

/// What a turn notice came to when it was about to be sent.
enum NoticeFilling {
    /// It tells of the player's turns as they are now; this many games wait.
    case turns(waiting: Int64)
    /// It is not sent, for this reason.
    case nothing(String)
}

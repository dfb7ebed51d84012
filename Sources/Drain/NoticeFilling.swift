import Turnstone

/// The content of a turn notice, made just before it is sent.
enum NoticeFilling {
    /// It names the player's turns as they are now. This many games wait. A device that has accepted the
    /// notice `newest`, or a newer one, has been told all of these turns.
    case turns(waiting: Int64, newest: Int64)
    /// It is not sent, for this reason.
    case nothing(Supersession)
}

/// The content of a turn notice, made just before it is sent.
enum NoticeFilling {
    /// It names the player's turns as they are now. This many games wait.
    case turns(waiting: Int64)
    /// It is not sent, for this reason.
    case nothing(String)
}

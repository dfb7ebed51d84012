/// The causes of failures that programs tell apart. Receipts have them as the reason of what they could not
/// send. Other causes are only shown.
package enum FailureCause {
    /// A file or a document does not parse.
    package static let corrupt = "corrupt"
    /// A newer program wrote it.
    package static let newer = "newer"
    /// It cannot be opened: it belongs to another account, or is a folder or a FIFO.
    package static let unreadable = "unreadable"
    /// It could not be read and has another name now.
    package static let setAside = "set aside"
    /// Reading it failed (`EIO`). It may work later.
    package static let faulty = "faulty"
    /// A document is older than its lock's number: an older copy is in its place, or a cluster file system
    /// shows an old state.
    package static let stale = "stale"
    /// Another process uses it.
    package static let busy = "busy"
}

import Turnstone

/// How a shelf stores its documents.
package struct ShelfOptions {
    /// Whether a commit must survive a power failure.
    let durable: Bool
    /// Whether the documents can be recreated. One that cannot be used then counts as absent, and the next
    /// commit replaces it.
    let isCache: Bool
    /// Whether a document that was committed and has gone counts as absent, because its content can be found
    /// out again.
    let mayVanish: Bool
    /// Until when programs of version 2 may run, each of which locks a document by a file of its own; `nil` if
    /// none of these files are left.
    let ownLocksUntil: Timestamp?
}

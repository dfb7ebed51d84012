import Turnstone

/// How a shelf stores its documents.
package struct ShelfOptions {
    /// Whether a commit must survive a power failure.
    let durable: Bool
    /// Whether the documents can be recreated. One that cannot be used then counts as absent, and the next
    /// commit replaces it.
    let isCache: Bool
    /// Whether a cache's document that cannot be used is tried three times before it is replaced: APNs takes a new
    /// provider token only every 20 minutes.
    let isRetried: Bool
    /// Whether a document that was committed and has gone counts as absent, because its content can be found
    /// out again.
    let mayVanish: Bool
    /// Whether no other machine can change a document, so that what is read under its lock is its present
    /// state.
    let isLocal: Bool
    /// What is left of the lock files of version 2.
    let ownLocks: OwnLocks
}

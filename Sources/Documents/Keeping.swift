/// How the documents of a shelf are kept.
package struct Keeping {
    /// Whether a commit must survive a power failure.
    let durable: Bool
    /// Whether the documents can be made again: one that cannot be used counts as absent, and the next commit replaces it.
    let isCache: Bool
    /// Whether a document that was committed and is gone counts as absent: its content can be found out again.
    let mayVanish: Bool
}

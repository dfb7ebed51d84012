import Turnstone

/// A player whom this cycle has claimed.
package struct Claim: Equatable, Sendable {
    package let player: PlayerID
    package let record: Int64
    /// The record's `claimed` word, as long as nobody else has claimed the player.
    let slot: Int64
    /// Whether the last look at the player failed.
    package let hasFailed: Bool
}

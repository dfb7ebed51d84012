import Turnstone

/// A player whose slot has come, and whom this cycle looks at.
package struct Claim: Equatable, Sendable {
    package let player: PlayerID
    /// The player's place in the index, as long as that is not compared again.
    let place: Int
    /// The slot that the look is for, and the player's last one.
    let slot: Timestamp
    let previous: Timestamp
    /// Whether the last look at the player failed.
    package let hasFailed: Bool
    /// Whether OGS has ever known the player.
    package let isKnown: Bool
}

import Turnstone

/// What the player's mark says about the looks at the player.
package struct PlayerRecord: Equatable {
    /// When the last successful look began; `nil` before the first.
    package let looked: Timestamp?
    /// How many looks failed in a row.
    package let failures: Int64
    /// Whether OGS said that it does not know the player.
    package let isUnknown: Bool
    /// No look before this moment, because looks failed.
    package let notBefore: Timestamp?
}

import Turnstone
import Unix

/// The player index's record of the looks at one player.
package struct PlayerRecord: Equatable {
    /// Whether `check-turns` looks at the player.
    package let isWatched: Bool
    /// When the last successful look began; `nil` before the first.
    package let looked: Timestamp?
    /// How many looks failed in a row.
    package let failures: Int64
    /// Whether OGS said that it does not know the player.
    package let isUnknown: Bool
    /// No look before this moment, because looks failed.
    package let notBefore: Timestamp?
}

extension State {
    /// - Parameter hint: where the record may be.
    /// - Returns: `nil` if the player has no record. The index is not made for this.
    package func playerRecord(of player: PlayerID, hint: Int64?) throws(Failure) -> PlayerRecord? {
        let hasIndex = try systemCalls(Files.exists("\(folder)/players.index"))
        guard hasIndex else { return nil }
        let records = try playerIndex().records()
        return records.record(of: player, hint: hint).map { records.playerRecord($0) }
    }
}

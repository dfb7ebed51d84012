import Turnstone
import Unix

/// What the player index knows of the looks at one player.
package struct LookRecord: Equatable {
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

extension LookRecord {
    /// A player who has a mark, and at whom nobody has looked.
    fileprivate static var new: LookRecord {
        LookRecord(isWatched: true, looked: nil, failures: 0, isUnknown: false, notBefore: nil)
    }
}

extension State {
    /// - Returns: `nil` if the player has neither a mark nor a record. Searches all records as they are on disk.
    package func lookRecord(of player: PlayerID) throws(Failure) -> LookRecord? {
        let isWatched = try marks.contains(player)
        var found: LookRecord?
        do throws(SystemError) {
            let file = try FileDescriptor.open(indexPath, .read)
            let records = PlayerRecords(
                try WordTable(
                    blockSize: PlayerRecords.size, reading: file, at: IndexHeader.size))
            found = records.record(of: player).map { records.lookRecord($0, isWatched: isWatched) }
        } catch {
            // The index is a cache.
            guard error.errno == .noEntry || error.errno.isFileSpecific else { throw error.failure }
        }
        return found ?? (isWatched ? .new : nil)
    }
}

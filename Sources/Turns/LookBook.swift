import Documents
import OGS
import Spool
import Store
import Turnstone
import Unix

/// Stores what a cycle's looks found and queues the notices.
package struct LookBook {
    private let state: State
    private let notifier: TurnNotifier
    package let index: PlayerIndex
    package var records: PlayerRecords { index.records }

    package init(
        _ variables: Variables, state: State, index: PlayerIndex, now: Timestamp
    ) throws(Failure) {
        self.state = state
        self.index = index
        notifier = try TurnNotifier(variables, state: state, now: now)
    }

    /// Takes in what a look found. If that is nothing new, only the index is written.
    ///
    /// - Parameters:
    ///   - record: the player's record in the index.
    ///   - began: when the look began.
    /// - Returns: `nil` if exactly this was judged already, or if the user was erased meanwhile.
    @discardableResult
    package func take(
        _ found: ActiveGames, entityTag: String?, of player: PlayerID, record: Int64,
        began: Timestamp
    ) throws(Failure) -> TurnNotifier.Report? {
        guard try state.users[player].read() != nil else {
            try index.erase(player, record)
            return nil
        }
        let fingerprint = found.fingerprint
        if records.found(record) != fingerprint || records.isUnknown(record) {
            let isNewest = try state.looks[player].update { look in
                guard !look.isLater(than: began) else { return false }
                look.take(found.withBoards(), at: began, record: record)
                return true
            }
            // A request has looked since, and asked for another look.
            guard isNewest else { return nil }
        } else if records.judged(record) == mark(fingerprint) {
            records.recordLook(record, began: began, found: fingerprint, tag: entityTag)
            return nil
        }
        let report = try notify(player, of: found, record: record, began: began)
        guard !report.isOutdated else { return report }
        records.recordLook(record, began: began, found: fingerprint, tag: entityTag)
        return report
    }

    /// Takes in that OGS has nothing new.
    @discardableResult
    package func takeUnchanged(
        of player: PlayerID, record: Int64, began: Timestamp
    ) throws(Failure) -> TurnNotifier.Report? {
        if records.judged(record) != mark(records.found(record)) {
            if let look = try state.look(of: player),
                look.found.fingerprint == records.found(record)
            {
                return try take(
                    look.found, entityTag: records.tag(record), of: player, record: record,
                    began: began)
            }
            // The look's document is lost, or a request has found something else since. OGS is asked for
            // everything the next time.
            records.forgetFound(record)
        }
        records.recordUnchanged(record, lookBegan: began)
        return nil
    }

    /// Takes in that OGS does not know the player.
    package func takeUnknown(
        _ player: PlayerID, record: Int64, at now: Timestamp
    ) throws(Failure) {
        records.recordUnknownPlayer(record, at: now)
        let (until, count) = records.unknown(record)
        // For requests, which cannot write the index.
        try state.looks[player].update {
            $0.unknownPlayer = UnknownPlayer(at: now, until: until, count: count)
        }
    }

    private func notify(
        _ player: PlayerID, of found: ActiveGames, record: Int64, began: Timestamp
    ) throws(Failure) -> TurnNotifier.Report {
        try notifier.notify(player, of: found, began: began) {
            index.unwatch(player, record)
        } settled: {
            records.recordJudgement(record, mark(found.fingerprint))
        }
    }

    /// The mark to compare judgements by: they depend on one setting besides the games.
    private func mark(_ fingerprint: Int64) -> Int64 {
        notifier.settings.includingLive ? ~fingerprint : fingerprint
    }
}

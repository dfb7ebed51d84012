import Documents
import OGS
import Store
import Turnstone

/// Stores what a look found and queues its notice.
package struct Findings {
    private let state: State
    private let notifier: TurnNotifier
    package let records: PlayerRecords

    package init(
        _ variables: Variables, state: State, now: Timestamp
    ) throws(Failure) {
        self.state = state
        notifier = try TurnNotifier(variables, state: state, now: now)
        records = try state.playerIndex().records()
    }

    /// Takes in what a look found. If that is nothing new, only the index is written.
    ///
    /// - Parameters:
    ///   - record: the player's record in the index; `nil` if the player is not watched.
    ///   - began: when the look began.
    ///   - wasKnown: whether the user had a document then.
    /// - Returns: `nil` if exactly this was judged already, or if the record is not the player's own.
    @discardableResult
    package func take(
        _ found: ActiveGames, entityTag: String?, of player: PlayerID, record: Int64?,
        began: Timestamp, wasKnown: Bool = true
    ) throws(Failure) -> TurnNotifier.Report? {
        guard let record else {
            try store(found, of: player, began: began, wasKnown: wasKnown)
            return try notify(player, of: found, record: nil, began: began)
        }
        if let own = try self.record(of: player), own != record {
            // A crash left this record behind, and the next registration made another.
            records.unwatch(record)
            return nil
        }
        guard try state.users[player].read() != nil else {
            // The user was erased meanwhile.
            records.unwatch(record)
            return nil
        }
        let fingerprint = found.fingerprint
        if records.found(record) != fingerprint {
            try store(found, of: player, began: began)
        } else if records.judged(record) == mark(fingerprint) {
            records.recordLook(record, began: began, found: fingerprint, tag: entityTag)
            return nil
        }
        let report = try notify(player, of: found, record: record, began: began)
        guard !report.isOutdated else { return report }
        records.recordLook(record, began: began, found: fingerprint, tag: entityTag)
        return report
    }

    /// Stores a look, unless the player was erased while OGS was asked. An erasure removes the look once the
    /// document is gone, so whichever comes later leaves none.
    private func store(
        _ found: ActiveGames, of player: PlayerID, began: Timestamp, wasKnown: Bool = true
    ) throws(Failure) {
        try state.looks[player].update { $0 = Look(found.withBoards(), at: began) }
        let document = try state.users[player].read()
        if document == nil && wasKnown || document?.isErasing == true {
            _ = try state.looks[player].erase()
        }
    }

    /// Takes in that OGS has nothing new.
    @discardableResult
    package func takeUnchanged(
        of player: PlayerID, record: Int64, began: Timestamp
    ) throws(Failure) -> TurnNotifier.Report? {
        if records.judged(record) != mark(records.found(record)), let look = try look(of: player) {
            return try take(
                look.found, entityTag: records.tag(record), of: player, record: record, began: began
            )
        }
        records.recordUnchanged(record, lookBegan: began)
        return nil
    }

    /// The result of the last look, and when that was last confirmed; `nil` if there was no look or its
    /// document is lost. OGS is then asked for everything.
    package func look(of player: PlayerID) throws(Failure) -> Look? {
        let look = try state.looks[player].read()
        guard let record = try record(of: player) else { return look }
        let found = records.found(record)
        guard var look else {
            if found != 0 { records.forgetFound(record) }
            return nil
        }
        if look.found.fingerprint == found {
            look.at = max(look.at, records.looked(record))
        } else if found != 0, look.at < records.looked(record) {
            // A power failure lost the newer document.
            records.forgetFound(record)
            return nil
        }
        return look
    }

    /// The player's record in the index; `nil` if the player is not watched.
    package func record(of player: PlayerID) throws(Failure) -> Int64? {
        guard let hint = try state.users[player].read()?.record else {
            return nil
        }
        return records.record(of: player, hint: hint)
    }

    /// Judges known games, and queues a notice if there is anything new, as after any look.
    package func notify(
        _ player: PlayerID, of found: ActiveGames, record: Int64?, began: Timestamp
    ) throws(Failure) -> TurnNotifier.Report {
        try notifier.notify(player, of: found) {
            guard let record else { return false }
            // A look takes at most two minutes. A larger difference means that the clock was set back.
            let later = records.looked(record) - began
            return later > .seconds(0) && later < .minutes(2)
        } unwatch: {
            if let record { records.unwatch(record) }
        } settled: {
            if let record { records.recordJudgement(record, mark(found.fingerprint)) }
        }
    }

    /// The mark to compare judgements by: they depend on one setting besides the games.
    private func mark(_ fingerprint: Int64) -> Int64 {
        notifier.settings.includingLive ? ~fingerprint : fingerprint
    }
}

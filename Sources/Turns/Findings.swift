import Documents
import Edge
import OGS
import Store
import Turnstone

/// Stores what a look found and queues its notice.
package struct Findings {
    private let state: State
    private let notifier: TurnNotifier
    private let clock: () -> Timestamp

    package init(
        _ variables: Variables, state: State, now: Timestamp
    ) throws(Failure) {
        self.state = state
        clock = try Environment.clock(variables)
        notifier = try TurnNotifier(variables, state: state, now: now)
    }

    /// Takes in what a look found. If that is nothing new, only the player's mark is written.
    ///
    /// - Parameters:
    ///   - isWatched: whether the player had a mark.
    ///   - began: when the look began.
    ///   - wasKnown: whether the user had a document then.
    /// - Returns: `nil` if exactly this was judged already, or if the player is not looked at any more.
    @discardableResult
    package func take(
        _ found: ActiveGames, entityTag: String?, of player: PlayerID, isWatched: Bool = true,
        began: Timestamp, wasKnown: Bool = true
    ) throws(Failure) -> TurnNotifier.LookResult? {
        guard isWatched else {
            try store(found, of: player, began: began, wasKnown: wasKnown)
            return try notify(player, of: found, began: began)
        }
        guard try state.users[player].read() != nil else {
            // The user was erased meanwhile.
            try state.unwatch(player)
            return nil
        }
        guard let mark = try state.watch.read(player) else { return nil }
        let fingerprint = found.fingerprint
        func recordLook() throws(Failure) {
            try state.watch.update(player) {
                $0.recordLook(began: began, found: fingerprint, tag: entityTag)
            }
        }
        if mark.found != fingerprint {
            try store(found, of: player, began: began)
        } else if mark.judged == self.mark(fingerprint) {
            try recordLook()
            return nil
        }
        let result = try notify(player, of: found, began: began)
        guard !result.isOutdated else { return result }
        try recordLook()
        return result
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
        of player: PlayerID, began: Timestamp
    ) throws(Failure) -> TurnNotifier.LookResult? {
        guard let mark = try state.watch.read(player) else { return nil }
        if mark.judged != self.mark(mark.found), let look = try look(of: player) {
            return try take(look.found, entityTag: mark.tag, of: player, began: began)
        }
        try state.watch.update(player) { $0.recordUnchanged(lookBegan: began) }
        return nil
    }

    /// The result of the last look, and when that was last confirmed; `nil` if there was no look or its
    /// document is lost. OGS is then asked for everything.
    package func look(of player: PlayerID) throws(Failure) -> Look? {
        let look = try state.looks[player].read()
        guard let mark = try state.watch.read(player) else { return look }
        func forgetFound() throws(Failure) {
            try state.watch.update(player) {
                if $0.found == mark.found { $0.forgetFound() }
            }
        }
        guard var look else {
            if mark.found != 0 { try forgetFound() }
            return nil
        }
        if look.found.fingerprint == mark.found {
            look.at = max(look.at, mark.looked)
        } else if mark.found != 0, look.at < mark.looked {
            // A power failure lost the newer document.
            try forgetFound()
            return nil
        }
        return look
    }

    /// Judges known games, and queues a notice if there is anything new, as after any look.
    package func notify(
        _ player: PlayerID, of found: ActiveGames, began: Timestamp
    ) throws(Failure) -> TurnNotifier.LookResult {
        try notifier.notify(player, of: found) { () throws(Failure) in
            guard let mark = try state.watch.read(player) else { return false }
            // A look takes at most two minutes. A larger difference, or a moment that has yet to come, means that
            // the clock was set back.
            let later = mark.looked - began
            let skew = state.isLocal ? .seconds(0) : State.clockTolerance
            return later > .seconds(0) && later < .minutes(2) && mark.looked <= clock() + skew
        } unwatch: { () throws(Failure) in
            try state.watch.remove(player)
        } settled: { () throws(Failure) in
            try state.watch.update(player) { $0.judged = mark(found.fingerprint) }
        }
    }

    /// The mark to compare judgements by: they depend on one setting besides the games.
    private func mark(_ fingerprint: Int64) -> Int64 {
        notifier.settings.includingLive ? ~fingerprint : fingerprint
    }
}

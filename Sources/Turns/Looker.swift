import OGS
import Spool
import Store
import Turnstone
import Unix

/// Looks at one player for a request, using what is known if it is young enough. Only the player's look document
/// is written: the index is the cycles' own, and may be another host's.
package struct Looker {
    private let variables: Variables
    private let state: State
    private let now: Timestamp
    private let notifier: TurnNotifier

    /// OGS answers in less than a second or is in trouble. Waiting longer would block a process that others
    /// need.
    private static let patience = Interval.seconds(3)

    package init(_ variables: Variables, state: State, now: Timestamp) throws(Failure) {
        self.variables = variables
        self.state = state
        self.now = now
        notifier = try TurnNotifier(variables, state: state, now: now)
    }

    /// What is known about a player's games.
    package struct Found {
        package let look: Look
        package let report: TurnNotifier.Report
    }

    /// Looks at a player.
    ///
    /// - Parameter age: a look younger than this is used; otherwise OGS is asked, within the installation's
    ///   schedule.
    /// - Throws: `later` if OGS cannot be asked or gives no usable answer; not found if OGS does not know the
    ///   player.
    package func look(at player: PlayerID, youngerThan age: Interval) throws(Failure) -> Found {
        let known = try known(player)
        if let found = try use(known, player, youngerThan: age) { return found }
        let settings = try OGSClient.Settings(variables)
        if let answer = known.unknownPlayer, answer.holds(at: now),
            try !hasRegistered(player, since: answer.at)
        {
            throw unknown(player, until: answer.until)
        }
        let backOff = try state.backOff()
        if let backOff, backOff.isActive(at: now) { throw pausing(backOff) }
        guard try claim(player, known) else {
            guard let found = try wait(for: player, age) else { throw noAnswer(nil) }
            return found
        }
        do throws(Failure) { return try ask(player, settings, known, after: backOff) } catch {
            try state.looks[player].update { $0.asked = nil }
            throw error
        }
    }

    /// What is known of a player without asking OGS.
    private struct Known {
        /// With the moment at which it was last confirmed; `nil` if there was no look or its document is lost.
        var look: Look?
        /// OGS's entity tag for it.
        var entityTag: String?
        var unknownPlayer: UnknownPlayer?
        /// What the looker knows; `nil` also if the record was not found.
        var glimpse: PlayerRecords.Glimpse?
    }

    private func known(_ player: PlayerID) throws(Failure) -> Known {
        var known = Known()
        guard let stored = try state.looks[player].read() else { return known }
        known.glimpse = state.glimpse(of: player, at: stored.record)
        known.look = try state.look(of: player)
        if let glimpse = known.glimpse, glimpse.found != 0,
            known.look?.found.fingerprint == glimpse.found
        {
            known.look?.confirm(at: glimpse.looked)
            known.entityTag = glimpse.tag
        }
        if let answer = stored.unknownPlayer, answer.at >= known.look?.at ?? answer.at {
            known.unknownPlayer = answer
        }
        return known
    }

    private func use(
        _ known: Known, _ player: PlayerID, youngerThan age: Interval
    ) throws(Failure) -> Found? {
        guard let look = known.look, look.at <= now, now - look.at < age else { return nil }
        return Found(
            look: look, report: try notifier.notify(player, of: look.found, began: look.at))
    }

    private func hasRegistered(
        _ player: PlayerID, since moment: Timestamp
    ) throws(Failure) -> Bool {
        try state.users[player].read()?.devices.contains { $0.registered >= moment } ?? false
    }

    /// Claims the player, unless another request or a cycle is looking.
    private func claim(_ player: PlayerID, _ known: Known) throws(Failure) -> Bool {
        let longest = Self.patience + .seconds(1)
        func isRecent(_ moment: Timestamp?) -> Bool {
            moment.map { $0 > now - longest && $0 <= now } ?? false
        }
        if let glimpse = known.glimpse, isRecent(glimpse.claimed), !isRecent(glimpse.looked) {
            return false
        }
        return try state.looks[player].update { look in
            // A request that began earlier was killed.
            guard !isRecent(look.asked) else { return false }
            look.asked = now
            return true
        }
    }

    /// Waits for another process's look, which is as good as ours. Only one request at a time asks OGS about
    /// a player.
    private func wait(for player: PlayerID, _ age: Interval) throws(Failure) -> Found? {
        let end = Instant.now + Self.patience
        while Instant.now < end {
            sleep(for: .milliseconds(20))
            if let found = try use(known(player), player, youngerThan: age) { return found }
        }
        return nil
    }

    private func ask(
        _ player: PlayerID, _ settings: OGSClient.Settings, _ known: Known, after backOff: BackOff?
    ) throws(Failure) -> Found {
        let request = OGSClient.LookRequest(player, entityTag: known.entityTag)
        let perSecond = try state.requestsPerSecond(variables)
        var run = try OGSClient(settings).run(until: Instant.now + Self.patience)
        run.add(request, after: try state.pace.reserve(perSecond: perSecond))
        var outcome = LookOutcome.notLooked
        while true {
            try run.advance()
            guard run.isOpen else { break }
            for answer in run.step() { outcome = answer.1 }
        }
        return try take(outcome, player, known, after: backOff)
    }

    private func take(
        _ outcome: LookOutcome, _ player: PlayerID, _ known: Known, after backOff: BackOff?
    ) throws(Failure) -> Found {
        switch outcome {
        case .games(let found, _):
            if try state.backOff()?.isActive(at: now) == false { try state.setBackOff(nil) }
            return try store(found, player, known)
        case .unchanged:
            guard let look = known.look else { throw noAnswer(nil) }
            return try store(look.found, player, known)
        case .unknownPlayer:
            let answer = UnknownPlayer(
                after: known.unknownPlayer, isKnown: known.look != nil, at: now)
            try state.looks[player].update { $0.unknownPlayer = answer }
            throw unknown(player, until: answer.until)
        case .backOff(let requested):
            let next = BackOff(after: backOff, requested: requested, now: now)
            try state.setBackOff(next)
            throw pausing(next)
        case .outage(let reason): throw noAnswer(reason)
        case .notLooked: throw noAnswer(nil)
        }
    }

    private func store(
        _ found: ActiveGames, _ player: PlayerID, _ known: Known
    ) throws(Failure) -> Found {
        let withBoards = found.withBoards()
        try state.looks[player].update { look in
            look.asked = nil
            if !look.isLater(than: now) { look.take(withBoards, at: now) }
        }
        // The next cycle must not take its older findings for the newest.
        if known.glimpse?.found != found.fingerprint {
            try state.users[player].holding { (_, _) throws(Failure) in
                try state.forgetJudgement(of: player)
            }
        }
        return Found(
            look: Look(withBoards, at: now),
            report: try notifier.notify(player, of: found, began: now))
    }

    private func unknown(_ player: PlayerID, until moment: Timestamp) -> Failure {
        .refused(
            .notFound,
            """
            Online-Go.com does not know player \(player); check the number. It is asked again after \
            \(CalendarDate(moment).text), or when the app registers again
            """)
    }

    private func pausing(_ backOff: BackOff) -> Failure {
        let until = CalendarDate(backOff.until).text
        let reason = backOff.reason ?? "Online-Go.com asked for a pause"
        return Failure(
            .later(seconds: 30),
            "unable to ask Online-Go.com before \(until): \(reason)", cause: "OGS")
    }

    /// - Parameter reason: `nil` if no answer came in time, because others wait for the same one or because
    ///   of the installation's pace.
    private func noAnswer(_ reason: String?) -> Failure {
        Failure(
            .later(seconds: 30),
            "unable to look at the player's games: "
                + (reason ?? "no answer within \(Self.patience.milliseconds / 1000) s"),
            cause: "OGS")
    }
}

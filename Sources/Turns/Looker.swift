import OGS
import Store
import Turnstone
import Unix

/// Looks at one player for a request, using what is known if it is young enough.
package struct Looker {
    private let variables: Variables
    private let state: State
    private let now: Timestamp
    package let findings: Findings

    /// OGS answers in less than a second or is in trouble. Waiting longer would block a process that others
    /// need.
    private static let patience = Interval.seconds(3)

    package init(_ variables: Variables, state: State, now: Timestamp) throws(Failure) {
        self.variables = variables
        self.state = state
        self.now = now
        findings = try Findings(variables, state: state, now: now)
    }

    /// The known facts about a player's games.
    package struct Found {
        package let look: Look
        package let result: TurnNotifier.LookResult
    }

    /// Looks at a player.
    ///
    /// - Parameter age: a look younger than this is used; otherwise OGS is asked, within the installation's
    ///   schedule.
    /// - Throws: `later` if OGS cannot be asked or gives no usable answer; not found if OGS does not know the
    ///   player.
    package func look(at player: PlayerID, youngerThan age: Interval) throws(Failure) -> Found {
        if let known = try known(player, youngerThan: age) { return known }
        let settings = try OGSClient.Settings(variables)
        let mark = try state.watch.read(player)
        if let moment = mark?.unknownUntil(at: now) {
            throw unknown(player, until: moment)
        }
        let backOff = try state.backOff()
        if let backOff, backOff.isActive(at: now) { throw pausing(backOff) }
        guard mark != nil else {
            return try ask(player, settings, isWatched: false, after: backOff)
        }
        guard try claim(player) else {
            guard let found = try wait(for: player, age) else { throw noAnswer(nil) }
            return found
        }
        defer { endClaim(of: player) }
        return try ask(player, settings, isWatched: true, after: backOff)
    }

    private func known(_ player: PlayerID, youngerThan age: Interval) throws(Failure) -> Found? {
        guard let look = try findings.look(of: player), look.at <= now, now - look.at < age else {
            return nil
        }
        return Found(
            look: look, result: try findings.notify(player, of: look.found, began: look.at))
    }

    /// - Returns: whether the player is this request's to ask about. One without a mark is.
    private func claim(_ player: PlayerID) throws(Failure) -> Bool {
        let now = now
        return try state.watch.update(player) {
            $0.claimForRequest(at: now, patience: Self.patience + .seconds(1))
        } ?? true
    }

    /// A claim that is not released ends by itself.
    private func endClaim(of player: PlayerID) {
        do throws(Failure) { try state.watch.update(player) { $0.endRequest() } } catch {}
    }

    /// Waits for another process's look, which is as good as ours. Only one request at a time asks OGS about
    /// a player.
    private func wait(for player: PlayerID, _ age: Interval) throws(Failure) -> Found? {
        let end = Instant.now + Self.patience
        while Instant.now < end {
            sleep(for: .milliseconds(20))
            if let known = try known(player, youngerThan: age) { return known }
        }
        return nil
    }

    private func ask(
        _ player: PlayerID, _ settings: OGSClient.Settings, isWatched: Bool, after backOff: BackOff?
    ) throws(Failure) -> Found {
        let isKnown = try state.users[player].read() != nil
        let request = OGSClient.Request(
            player, entityTag: isWatched ? try state.watch.read(player)?.tag : nil)
        let perSecond = try state.requestsPerSecond(variables)
        var outcome = OGSOutcome.notLooked
        let pause = try state.pace.reserve(perSecond: perSecond, within: Self.patience)
        guard let pause else {
            return try take(outcome, player, isWatched, after: backOff, wasKnown: isKnown)
        }
        var run = try OGSClient(settings).run(until: Instant.now + Self.patience)
        run.add(request, after: pause)
        while true {
            try run.advance()
            guard run.isOpen else { break }
            for answer in run.step() { outcome = answer.1 }
        }
        return try take(outcome, player, isWatched, after: backOff, wasKnown: isKnown)
    }

    private func take(
        _ outcome: OGSOutcome, _ player: PlayerID, _ isWatched: Bool, after backOff: BackOff?,
        wasKnown: Bool
    ) throws(Failure) -> Found {
        switch outcome {
        case .games(let found, let tag):
            if try state.backOff()?.isActive(at: now) == false { try state.setBackOff(nil) }
            let result = try findings.take(
                found, entityTag: tag, of: player, isWatched: isWatched, began: now,
                wasKnown: wasKnown)
            let look = Look(found.withBoards(), at: now)
            if let result { return Found(look: look, result: result) }
            return Found(
                look: look,
                result: try findings.notify(player, of: found, began: now))
        case .unchanged:
            guard isWatched, let look = try findings.look(of: player) else { throw noAnswer(nil) }
            try findings.takeUnchanged(of: player, began: now)
            let result = try findings.notify(player, of: look.found, began: now)
            return Found(look: Look(look.found, at: now), result: result)
        case .unknownPlayer:
            let now = now
            let until = try state.watch.update(player) { mark in
                mark.recordUnknownPlayer(at: now)
                return mark.unknownUntil(at: now)
            }
            throw unknown(player, until: until ?? nil)
        case .backOff(let requested):
            let next = BackOff(after: backOff, requested: requested, now: now)
            try state.setBackOff(next)
            throw pausing(next)
        case .outage(let reason): throw noAnswer(reason)
        case .notLooked: throw noAnswer(nil)
        }
    }

    private func unknown(_ player: PlayerID, until moment: Timestamp?) -> Failure {
        let next = moment.map {
            " It is asked again after \(CalendarDate($0).text), or when the app registers again"
        }
        return .refused(
            .notFound,
            "Online-Go.com does not know player \(player); check the number"
                + (next.map { ".\($0)" } ?? ""))
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
                + (reason ?? "no answer within \(Self.patience.seconds) s"),
            cause: "OGS")
    }
}

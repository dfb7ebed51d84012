import Documents
import Spool
import Store
import Turnstone
import Unix

/// Why a user gets no push now, as far as the state folder tells, the most likely reason first.
struct Reasons {
    private let timeline: Timeline
    private let look: Look?
    /// `nil` if it could not be read.
    private let record: PlayerRecord??
    private let isQueued: Bool
    private var now: Timestamp { timeline.now }
    private var document: User { timeline.document }

    init(_ timeline: Timeline, look: Look?, record: PlayerRecord??, isQueued: Bool) {
        self.timeline = timeline
        self.look = look
        self.record = record
        self.isQueued = isQueued
    }

    func all(_ gaps: inout Gaps) -> [JSONObject] {
        var found = devices() + preferences()
        func add(_ find: () throws(Failure) -> [JSONObject]) {
            found += gaps.read("reasons") { () throws(Failure) in try find() } ?? []
        }
        add { () throws(Failure) in try services() }
        if isQueued {
            found.append(
                reason(.queued, "Something for the user is queued and not delivered yet."))
        }
        var pause: BackOff?
        add { () throws(Failure) in
            pause = try timeline.state.backOff()
            return []
        }
        add { () throws(Failure) in try looks(pause) }
        add { () throws(Failure) in try turns() }
        return found
    }

    private func reason(
        _ reason: NoPushReason, _ message: String, action: String? = nil
    ) -> JSONObject {
        var members: JSONObject = ["reason": .string(reason.rawValue), "message": .string(message)]
        members["action"] = action.map { .string($0) }
        return members
    }

    private func text(_ moment: Timestamp) -> String { CalendarDate(moment).text }

    // MARK: Where to

    private func devices() -> [JSONObject] {
        let devices = document.devices.filter { $0.kind == .device }
        guard !devices.isEmpty else {
            return [
                reason(
                    .noDevice, "The user has no device.",
                    action:
                        "The app registers its token when it starts. Ask the user to open the app.")
            ]
        }
        guard !document.hasDevice(for: timeline.state.services) else { return [] }
        if let device = devices.first(where: { $0.isOpenToMessages }) {
            let variable =
                switch device.platform.service {
                case .fcm: "FCM_SERVICE_ACCOUNT"
                case .web: "VAPID_SUBJECT"
                case .apns: "APNS_KEY_PATH"
                }
            return [
                reason(
                    .noPushService,
                    "The user's devices are on \(device.platform.rawValue), which has no push service here.",
                    action: "Set \(variable). README.md describes it.")
            ]
        }
        if let device = devices.first(where: { $0.quarantined != nil }) {
            let refusal = device.refusals.map { " (\($0.reason))" } ?? ""
            return [
                reason(
                    .quarantined,
                    "The push service does not know the device's token\(refusal). Nothing is sent to it.",
                    action: "It ends when the app registers again. Let the user open the app.")
            ]
        }
        return [
            reason(
                .disabled, "Messages to the user's devices are disabled.",
                action: "The app, or a change of the profile, enables them again.")
        ]
    }

    // MARK: Whether wanted

    private func preferences() -> [JSONObject] {
        var found: [JSONObject] = []
        let preferences = document.preferences
        if preferences.kinds[Preferences.turn] == .bool(false) {
            found.append(reason(.unwanted, "The user has turned turn notices off."))
        }
        if let until = preferences.mutedUntil, until > now {
            found.append(reason(.muted, "The user has muted notifications until \(text(until))."))
        }
        if let end = preferences.quietHours?.end(at: now, WallClock.minute) {
            found.append(reason(.quietHours, "The user has quiet hours until \(text(end))."))
        }
        if let silence = document.silence, silence.holds(at: now) {
            found.append(
                reason(
                    .refusedEverywhere,
                    """
                    The last \(silence.count) notices were refused for every device. No other is queued \
                    before \(text(silence.until)).
                    """,
                    action: "The events show the reasons. Let the user open the app."))
        }
        return found
    }

    // MARK: Whether it can be sent

    private func services() throws(Failure) -> [JSONObject] {
        let used = document.devices.filter { $0.isOpenToMessages }.map {
            $0.platform.service.rawValue
        }
        var found: [JSONObject] = []
        for stop in try timeline.state.deliveryStops() where used.contains(stop.service) {
            found.append(
                reason(
                    .deliveryStopped,
                    "Nothing is sent through \(stop.service) since \(text(stop.since)): \(stop.reason).",
                    action: "The problems of the installation say what to do."))
        }
        for failure in try timeline.state.deliveryFailures() where used.contains(failure.service) {
            found.append(
                reason(
                    .deliveryFailing,
                    """
                    Since \(text(failure.since)), \(failure.service) has answered no push: \
                    \(failure.reason). Pushes are tried again.
                    """))
        }
        return found
    }

    // MARK: Whether anybody looks

    private func looks(_ pause: BackOff?) throws(Failure) -> [JSONObject] {
        guard timeline.user.player != nil, document.isPlayer else {
            return [
                reason(
                    .noPlayer,
                    """
                    Nobody looks at this user's games: only POST /register makes a player. The user gets \
                    messages, but no turn notices.
                    """)
            ]
        }
        guard let known = record else { return [] }
        guard let record = known else {
            return document.hasDevice(for: timeline.state.services)
                ? [
                    reason(
                        .notWatched, "check-turns does not look at this player yet.",
                        action: "The next cycle adds the player. Check that check-turns runs.")
                ] : []
        }
        var found: [JSONObject] = []
        if let pause, pause.isActive(at: now) {
            found.append(
                reason(
                    .paused, "No games are looked at until \(text(pause.until))."))
        }
        if record.isUnknown {
            found.append(
                reason(
                    .unknownPlayer,
                    "Online-Go.com knows no player with this number\(next(record)).",
                    action: "Check the number with which the app registered."))
        } else if record.failures > 0 {
            found.append(
                reason(
                    .lookFailed,
                    "The last \(record.failures) looks at the player's games failed\(next(record)).",
                    action: "The log of check-turns has the reasons."))
        }
        guard let looked = record.looked else {
            return found.isEmpty
                ? [reason(.notLooked, "Nobody has looked at the player's games yet.")] : found
        }
        let interval = try timeline.state.checkInterval(timeline.variables)
        if now - looked > interval * 2 + .minutes(1), found.isEmpty {
            found.append(
                reason(
                    .lookLate, "The last look at the player's games was at \(text(looked)).",
                    action: "Check that check-turns runs every 30 seconds."))
        }
        return found
    }

    private func next(_ record: PlayerRecord) -> String {
        guard let moment = record.notBefore, moment > now else { return "" }
        return "; the next look is after \(text(moment))"
    }

    // MARK: Whether there is something to tell

    private func turns() throws(Failure) -> [JSONObject] {
        guard let player = timeline.user.player, document.isPlayer, let look else { return [] }
        let settings = try TurnSettings(timeline.variables)
        let judgement = TurnRule.judge(
            look.found, ledger: document.ledger, player: player,
            includingLive: settings.includingLive)
        var found: [JSONObject] = []
        if !judgement.held.isEmpty {
            found.append(
                reason(
                    .pausedOrLive,
                    """
                    \(count(judgement.held.count)) for the player, but paused or live: no notice is sent \
                    for those.
                    """))
        }
        if judgement.waiting.isEmpty {
            found.append(
                reason(.nothingWaits, "No game waits for the player by the last look."))
        } else if judgement.new.isEmpty {
            let told = judgement.old.count { document.ledger[$0.id]?.isNotified == true }
            if told == judgement.old.count {
                found.append(
                    reason(
                        .told,
                        "\(count(told)) for the player, and each was told already: a turn is told once."
                    ))
            }
        } else {
            found.append(
                reason(
                    .newTurns,
                    "\(count(judgement.new.count)) for the player without a notice. The next cycle queues it."
                ))
        }
        if look.found.skipped > 0 {
            found.append(
                reason(
                    .gamesSkipped,
                    "\(look.found.skipped) games could not be understood in Online-Go.com's answer."
                ))
        }
        return found
    }

    private func count(_ games: Int) -> String {
        games == 1 ? "1 game waits" : "\(games) games wait"
    }
}

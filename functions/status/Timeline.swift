import Documents
import Edge
import Queueing
import Spool
import Store
import Turnstone
import Unix

/// The answer of `GET /api/status/{user}`. Each part is read on its own: one that cannot be read leaves the
/// others.
struct Timeline {
    let user: UserID
    /// An empty one if it cannot be read.
    let document: User
    let state: State
    let spools: Spools
    let variables: Variables
    let now: Timestamp

    /// How long the receipts may be read.
    private static let receiptTime = Interval.milliseconds(2500)
    /// What is told from the user's document.
    private static let documentParts = ["reasons", "devices", "preferences", "turns", "waiting"]

    private init(of user: UserID, _ document: User?, _ state: State, _ request: Request) {
        self.user = user
        self.document = document ?? User()
        self.state = state
        spools = state.spools
        variables = request.variables
        now = request.time
    }

    /// - Throws: not found if nothing is known about the user; misconfigured if there is no state folder to
    ///   look at.
    static func answer(about user: UserID, _ request: Request) throws(Failure) -> JSONObject {
        let limit = try request.number("limit", in: 1...500) ?? 100
        let place = try request.receiptsPlace()
        var answer: JSONObject = [
            "success": true, "user": .string(user.text),
            "at": .string(CalendarDate(request.time).text),
        ]
        var gaps = Gaps(in: request.variables.stateFolder)
        do throws(Failure) {
            let state = try State(request.variables)
            let document = try document(of: user, in: state, &gaps)
            let timeline = Timeline(of: user, document, state, request)
            let parts = timeline.parts(isKnown: document != nil, &gaps)
            for member in parts.members { answer.append(member.name, member.value) }
            let events = gaps.read("events") { () throws(Failure) in
                try timeline.events(from: place, limit: limit)
            }
            for failure in events?.unread ?? [] {
                gaps.add(failure, parts: ["events"])
                failure.recordFile()
            }
            for member in events?.members.members ?? [] { answer.append(member.name, member.value) }
        } catch {
            switch error.disposition {
            case .refused: throw error
            default: gaps.add(error, parts: documentParts + ["events"])
            }
        }
        for member in gaps.members.members { answer.append(member.name, member.value) }
        return answer
    }

    /// - Returns: `nil` if it cannot be read.
    private static func document(
        of user: UserID, in state: State, _ gaps: inout Gaps
    ) throws(Failure) -> User? {
        let stored = state.users[user]
        do throws(Failure) {
            if let document = try stored.read() { return document }
            // A file in the place of the folder looks like a document that is not there.
            _ = try systemCalls(Files.names(in: Files.parent(of: stored.path)))
        } catch {
            // Receipts under the user's former id are not found without the document.
            gaps.add(error, parts: documentParts + ["events"])
            return nil
        }
        throw .refused(
            .notFound,
            "nothing is known about this user: no device was registered, or the user was erased")
    }

    /// - Parameter isKnown: whether the user's document could be read.
    private func parts(isKnown: Bool, _ gaps: inout Gaps) -> JSONObject {
        let look = gaps.read("look", "turns", "reasons") { () throws(Failure) in
            try user.player.flatMap { (player) throws(Failure) in
                let stored = state.looks[player]
                if let look = try stored.read() { return look }
                // It is a cache: one that cannot be read counts as none, except where somebody asks why.
                let contents = try systemCalls(Files.contents(stored.path))
                if contents == nil, Files.target(ofLink: stored.path) != nil {
                    throw SystemError("open", stored.path, .noEntry).failure
                }
                return nil
            }
        }
        let record = gaps.read("look", "reasons") { () throws(Failure) in
            try user.player.flatMap { (player) throws(Failure) in
                try state.watch.read(player)?.playerRecord
            }
        }
        var parts = JSONObject()
        if isKnown {
            let waiting = gaps.read("waiting", "reasons") { () throws(Failure) in
                try waitingInQueues()
            }
            let reasons = Reasons(
                self, look: look ?? nil, record: record, isQueued: waiting?.isEmpty == false)
            parts["reasons"] = .array(reasons.all(&gaps).map { .object($0) })
            parts["devices"] = .array(document.devices.map { description(of: $0) })
            parts["preferences"] = document.preferences.listing
            parts["lastNotificationAt"] = document.lastNotification.map {
                .string(CalendarDate($0).text)
            }
            parts["waiting"] = waiting.map { .array($0) }
        }
        if let record = record ?? nil {
            parts["look"] = .object(description(of: record, look ?? nil))
        }
        if isKnown { parts["turns"] = .array(turns(look ?? nil)) }
        return parts
    }

    /// - Returns: the members about events, and why some are missing.
    private func events(
        from place: ReceiptHistory.Place?, limit: Int
    ) throws(Failure) -> (members: JSONObject, unread: [Failure]) {
        let deadline = Instant.now + Self.receiptTime
        var history = try ReceiptHistory(of: document.ids(of: user), in: spools, from: place)
        var events: [JSONValue] = []
        while events.count < limit, let receipt = try history.next(until: deadline) {
            events.append(.object(event(receipt)))
        }
        let members: JSONObject = [
            "events": .array(events),
            "next": history.isAtEnd ? .null : .string(history.place.text),
            "stopped": .bool(events.count < limit && !history.isAtEnd),
        ]
        return (members, history.unread)
    }

    // MARK: What is known

    private func description(of device: Device) -> JSONValue {
        var members = device.listing.object ?? [:]
        members["tokenType"] = .string(device.kind.name)
        members["appVersion"] = device.appVersion.map { .string($0) }
        members["os"] = device.system.map { .string($0) }
        members["enabled"] = .bool(device.isEnabled)
        members["environment"] = device.environment.map { .string($0.rawValue) }
        members["reachedAt"] = device.reached.map { .string(CalendarDate($0).text) }
        members["quarantinedAt"] = device.quarantined.map { .string(CalendarDate($0).text) }
        members["refused"] = device.refusals.map {
            [
                "reason": .string($0.reason), "count": .integer($0.count),
                "lastAt": .string(CalendarDate($0.last).text),
            ]
        }
        return .object(members)
    }

    private func description(of record: PlayerRecord, _ look: Look?) -> JSONObject {
        var members: JSONObject = [
            "watched": true, "failures": .integer(record.failures),
            "unknownPlayer": .bool(record.isUnknown),
        ]
        members["at"] = record.looked.map { .string(CalendarDate($0).text) }
        members["notBefore"] = record.notBefore.map { .string(CalendarDate($0).text) }
        if let look {
            members["games"] = .integer(Int64(look.found.games.count))
            members["skippedGames"] = .integer(Int64(look.found.skipped))
        }
        return members
    }

    /// The games of the last look and those of the ledger, with what was told of each.
    private func turns(_ look: Look?) -> [JSONValue] {
        let games = look?.found.games ?? []
        var turns = games.map { game in
            turn(game.id, game, document.ledger[game.id])
        }
        for entry in document.ledger.entries
        where !games.contains(where: { $0.id == entry.turn.game }) {
            turns.append(turn(entry.turn.game, nil, entry))
        }
        return turns
    }

    private func turn(_ id: Int64, _ game: Game?, _ entry: TurnLedger.Entry?) -> JSONValue {
        var members: JSONObject = ["game": .integer(id)]
        let turn = game.map { Turn($0) } ?? entry?.turn
        if let game, let player = user.player {
            members["name"] = .string(game.name)
            members["waits"] = .bool(game.isTurn(of: player))
            members["paused"] = game.isPaused ? true : nil
            members["live"] = game.isLive ? true : nil
        }
        members["moves"] = turn?.moveCount.map { .integer(Int64($0)) }
        members["lastMoveAt"] = turn?.lastMove.map { .string(CalendarDate($0).text) }
        let state =
            if let entry {
                !entry.isNotified ? "queued" : entry.notice == 0 ? "never" : "told"
            } else { "none" }
        members["notice"] = .string(state)
        return .object(members)
    }

    /// The user's notifications that are found without reading all queues: turn notices, corrections of the
    /// badge, and held messages.
    private func waitingInQueues() throws(Failure) -> [JSONValue] {
        var waiting: [JSONValue] = []
        var ids: [(id: String, what: String)] = []
        if let player = user.player {
            for notice in document.ledger.openNotices.sorted() {
                ids.append((turnNoticeID(player, notice), "turn notice"))
            }
        }
        if let id = document.turnBadge.correction { ids.append((id, "badge")) }
        if let id = document.badgePush?.id { ids.append((id, "badge")) }
        for (id, what) in ids {
            for spool in try spools.spools(with: id) {
                var members: JSONObject = [
                    "id": .string(id), "what": .string(what),
                    "service": .string(spool.service.rawValue),
                ]
                members["acceptedAt"] = try spool.find(id).map {
                    .string(CalendarDate($0.accepted).text)
                }
                members["until"] = try spool.putOff(id, at: now).map {
                    .string(CalendarDate($0.until).text)
                }
                waiting.append(.object(members))
            }
        }
        let end = Instant.now + .milliseconds(200)
        for spool in try spools.all() {
            var held = 0
            for id in document.ids(of: user) { held += try spool.heldCount(of: id, until: end) }
            guard held > 0 else { continue }
            waiting.append([
                "what": "held messages", "service": .string(spool.service.rawValue),
                "count": .integer(Int64(held)),
            ])
        }
        return waiting
    }

    // MARK: What happened

    private func event(_ receipt: Receipt) -> JSONObject {
        var event: JSONObject = [
            "at": .string(CalendarDate(receipt.at).millisecondText), "id": .string(receipt.id),
            "service": .string(receipt.service.rawValue),
            "what": .string(receipt.outcome?.rawValue ?? "retry"),
        ]
        event["kind"] = receipt.kind.map { .string($0) }
        event["reason"] = receipt.reason.map { .string($0) }
        event["status"] = receipt.status.map { .integer($0) }
        event["device"] = device(of: receipt).map { .string($0) }
        event["broughtBy"] = receipt.release.map { .string($0) }
        event["delay"] = receipt.delay.map { .integer($0.milliseconds) }
        event["sinceMove"] = receipt.delaySinceMove.map { .integer($0.milliseconds) }
        event["inDoubt"] = receipt.isInDoubt ? true : nil
        return event
    }

    /// The device's id. Receipts of turn notices have only the first eight digits of its token, or a
    /// browser's push service, which several browsers share: it is `nil` if several devices can be meant.
    private func device(of receipt: Receipt) -> String? {
        if let id = receipt.device { return id }
        let possible = document.devices.filter {
            $0.platform.service == receipt.service && $0.token.start == receipt.tokenStart
        }
        return possible.count == 1 ? possible[0].id : nil
    }
}

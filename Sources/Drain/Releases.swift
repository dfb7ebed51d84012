import Documents
import Messages
import Queueing
import Spool
import Store
import Turnstone
import Unix

/// Decides what a release contains when it is sent: those of the messages held for a device that are still
/// wanted.
final class Releases: RunPart {
    let run: Run
    private let documents: LastDocuments
    private let order: SeriesOrder
    private let boxes: HeldBoxes
    private let reader: ReleaseReader
    private let badges: Badges
    private let selection = SelectionCheck()

    init(
        _ run: Run, _ documents: LastDocuments, _ order: SeriesOrder, _ boxes: HeldBoxes,
        _ reader: ReleaseReader, _ badges: Badges
    ) {
        self.reader = reader
        self.run = run
        self.documents = documents
        self.order = order
        self.boxes = boxes
        self.badges = badges
    }

    /// Loads a release with the messages that are still wanted.
    ///
    /// - Returns: a verdict if the push is not sent now; `nil` if it is loaded.
    func load(
        _ push: Push, to device: Device, of user: UserID, _ document: User
    ) throws(Failure) -> Verdict? {
        push.bring([])
        push.job.release = nil
        guard let found = try reader.take(push.job.notification.id) else { return .busy }
        try setAsideDamaged(found, push)
        var contents = Contents(shown: found.messages, cancelled: found.cancelled)
        if let pause = try dropUnwanted(of: &contents, push, device, user, document) {
            return .behind(for: pause)
        }
        guard !contents.shown.isEmpty else { return .superseded(.released) }
        // Two releases to one device could arrive in any order.
        guard try !order.isBringing(toAnyOf: documents.phoneIDs(of: device)) else { return .soon }
        if let verdict = try keepBack(some: &contents, of: push, device, user, document) {
            return verdict
        }
        try load(contents, into: push, for: document.profile.language)
        push.bring(contents.shown.map { $0.id }, hiding: contents.hidden.map { $0.id })
        push.job.release = (contents.shown, contents.hidden)
        push.brought = contents.shown.compactMap { $0.notification.series }
        return try badges.count(contents.shown.map(\.notification), in: push, of: user)
    }

    /// Ends a release whose user no longer has the device. Messages that were cancelled before stay cancelled.
    func endWithoutDevice(_ push: Push) throws(Failure) -> Verdict {
        guard let found = try reader.take(push.job.notification.id) else { return .busy }
        try setAsideDamaged(found, push)
        let isInDoubt = push.job.file.isInDoubt(push.delivery)
        let fates = found.messages.map { (message) in
            var fate = Fate()
            if !isInDoubt, found.cancelled.contains(message.id) { fate.end(.cancelled) }
            return fate
        }
        try drop(found.messages, fates, push)
        let rest = zip(found.messages, fates).filter { $0.1.isWanted }
        push.bring(rest.map { $0.0.id })
        return .superseded(rest.isEmpty ? .released : .unregistered)
    }

    /// The messages of a release that are still wanted, oldest first.
    private struct Contents {
        var shown: [HeldMessage]
        /// Those that are replaced by messages in ``shown``. They end once the push service has accepted the
        /// release. Until then, the messages that replace them may expire or be cancelled.
        var hidden: [HeldMessage] = []
        /// The ids of those that are cancelled.
        let cancelled: Set<String>

        var all: [HeldMessage] { shown + hidden }
    }

    /// Sets the messages of a release that cannot be read aside. The others are sent, also if that fails; it is tried
    /// again at the release's end.
    private func setAsideDamaged(
        _ contents: ReleaseReader.Contents, _ push: Push
    ) throws(Failure) {
        if contents.damaged.isEmpty { return }
        let new = reader.newDamage(in: contents)
        let isInDoubt = push.job.file.isInDoubt(push.delivery)
        for (id, _, failure) in new {
            if !isInDoubt, documents.record(of: id)?.cancelled != nil {
                append(.cancelled, nil, ofMessage: id, push, isInDoubt: false)
            } else {
                append(.damaged, failure.cause, ofMessage: id, push, isInDoubt: isInDoubt)
            }
        }
        try intake.log.commit()
        for (id, path, _) in contents.damaged {
            // An earlier attempt may have counted it.
            if !isInDoubt, let user = push.job.notification.user {
                try run.orLogIfBroken { () throws(Failure) in
                    try run.takeBackBadges(id, nil, [user], true)
                }
            }
            guard new.contains(where: { $0.path == path }) else { continue }
            run.orLog { () throws(Failure) in try spool.setAside(id, path, now: now) }
        }
    }

    /// Ends the messages of a release that must not be sent any more.
    ///
    /// - Returns: how long to wait for a newer state of one of them. Until then none is ended.
    private func dropUnwanted(
        of contents: inout Contents, _ push: Push, _ device: Device, _ user: UserID,
        _ document: User
    ) throws(Failure) -> Interval? {
        let messages = contents.shown
        let cancelled = contents.cancelled
        var pause: Interval?
        // The box of the device's present id, if the messages were held under another id.
        let id = push.job.notification.user ?? user
        let box = push.device == device.id ? nil : HeldBox(of: id, device.id)
        let fates = try fates(
            of: messages, cancelled, by: push, on: device, document, besides: box, &pause)
        if pause != nil { return pause }
        try drop(messages, fates, push)
        let wanted = zip(messages, fates).filter { $0.1.isWanted }
        contents.shown = wanted.filter { !$0.1.isHidden }.map { $0.0 }
        contents.hidden = wanted.filter { $0.1.isHidden }.map { $0.0 }
        return nil
    }

    /// Puts messages that must not be sent yet back into the box: all of them if the user wants nothing now,
    /// otherwise those that were released before their time because the clock was ahead. Messages that may
    /// have arrived stay in the release and are repeated under its id.
    ///
    /// - Returns: the release's verdict, if nothing is left to send now.
    private func keepBack(
        some contents: inout Contents, of push: Push, _ device: Device, _ user: UserID,
        _ document: User
    ) throws(Failure) -> Verdict? {
        let isInDoubt = push.job.file.isInDoubt(push.delivery)
        let release = push.job.notification.id
        let id = push.job.notification.user ?? user
        let box = HeldBox(of: id, device.id)
        let passage = document.preferences.passage(nil, at: now, WallClock.minute)
        if case .held(let moment) = passage {
            if isInDoubt {
                push.job.prolong(for: contents.all.map { $0.notification }, heldUntil: moment)
                let first = contents.all.map { end(of: $0.notification, in: push.job) }.min()
                return .retained(min(moment, first ?? moment) - now)
            }
            try spool.putBack(contents.all, of: release, into: box, until: moment, now: now)
            try boxes.lookAgain(at: user, held: id, until: moment)
            return .superseded(.held)
        }
        for message in contents.shown {
            guard let moment = message.notification.notBefore, moment > now else { continue }
            if isInDoubt {
                push.job.prolong(for: contents.all.map { $0.notification }, heldUntil: moment)
                return .early(min(moment - now, .minutes(1)))
            }
            try spool.putBack([message], of: release, into: box, until: moment, now: now)
            contents.shown.removeAll { $0.id == message.id }
        }
        return contents.shown.isEmpty ? .superseded(.held) : nil
    }

    /// The outcome of a message that was held.
    private struct Fate {
        /// `nil` if it is still wanted.
        private(set) var outcome: Outcome?
        private(set) var reason: String?
        /// Whether its file is superfluous, because its own notification brings it.
        var isVoid = false
        /// Whether the device gets it, or has got it, in another way.
        var isRepeated = false
        /// Whether a message that is still wanted replaces it.
        var isHidden = false
        /// Whether an earlier push of the release may have shown it.
        var mayHaveArrived = false

        var isWanted: Bool { outcome == nil && !isVoid }

        mutating func end(_ outcome: Outcome, _ reason: ReceiptReason? = nil) {
            self.outcome = outcome
            self.reason = reason?.rawValue
        }
    }

    /// The messages of a release that replace older ones.
    private struct Replacements {
        /// The series that have been replaced by messages outside of the release.
        private var ended: Set<[String]> = []
        private var newer = NewestStates()
        /// By key, the messages that are kept and expire last.
        private var kept: [String: [(order: Series.Order, end: Timestamp)]] = [:]

        /// An older message ends at once if this many newer ones would have to fail before it is shown.
        private static let most = 20

        func end(_ series: Series) -> Bool { ended.contains(series.keys) }

        func hide(_ series: Series) -> Bool { newer.replaces(series) }

        /// Whether a message is kept for nothing: twenty newer ones expire later, and would all have to be
        /// cancelled before it is shown.
        func suffice(for notification: Notification, _ series: Series) -> Bool {
            series.keys.contains { key in
                guard let newer = kept[key], newer.count == Self.most else { return false }
                return newer.allSatisfy {
                    $0.order > series.order && $0.end >= notification.latestExpiration
                }
            }
        }

        mutating func didEnd(_ series: Series) { ended.insert(series.keys) }

        mutating func didKeep(_ notification: Notification, _ series: Series) {
            newer.insert(series)
            for key in series.keys {
                var list = kept[key] ?? []
                let end = notification.latestExpiration
                list.insert((series.order, end), at: list.firstIndex { $0.end < end } ?? list.count)
                kept[key] = Array(list.prefix(Self.most))
            }
        }
    }

    /// Whether a device has got a message under one of the ids that were merged.
    private func hasGot(_ message: String, _ device: Device) throws(Failure) -> Bool {
        guard device.standsForOthers, let record = documents.record(of: message),
            let start = record.receiptsStart(at: now)
        else { return false }
        try intake.log.write()
        return try intake.hasReached(
            message, from: { start[$0] }, device.token, orAnyOf: device.ids)
    }

    /// - Parameters:
    ///   - push: the release's push.
    ///   - other: the box of the device's present id, if the messages are held under another id.
    ///   - pause: set to how long to wait for a newer state of one of them.
    private func fates(
        of messages: [HeldMessage], _ cancelled: Set<String>, by push: Push, on device: Device,
        _ document: User, besides other: HeldBox?, _ pause: inout Interval?
    ) throws(Failure) -> [Fate] {
        let isInDoubt = push.job.file.isInDoubt(push.delivery)
        // Those that their own notifications do not bring. To look for each of hundreds would take long.
        let alone =
            isInDoubt || messages.count <= 64
            ? [] : Set(try spool.missing(among: messages.map { $0.id }, orMay: false))
        let ids =
            messages.contains { $0.notification.series != nil }
            ? try documents.phoneIDs(of: device) : []
        var fates: [Fate] = []
        var replacements = Replacements()
        // The messages that an earlier push may have shown, and those that were hidden behind them.
        var doubtful = NewestStates()
        for message in messages.reversed() {
            let notification = message.notification
            if let moment = notification.notBefore, moment > now {
                // It goes back into the box, and replaces nothing before its time.
                fates.append(Fate())
                continue
            }
            var fate = try unwanted(
                message, isCancelled: cancelled.contains(message.id), by: push, on: device,
                document, besides: other, alone)
            let wasHidden = notification.series.map(doubtful.replaces) ?? false
            fate.mayHaveArrived = isInDoubt && !wasHidden
            if fate.isWanted, let series = notification.series {
                if wasHidden {
                    // What replaces it may have arrived.
                    fate.end(.superseded, .newer)
                } else {
                    try decide(
                        &fate, of: notification, series, onAnyOf: ids, &replacements, &pause)
                }
            }
            if isInDoubt, let series = notification.series { doubtful.insert(series) }
            fates.append(fate)
        }
        return fates.reversed()
    }

    /// The fate of a message, as far as no other message decides it.
    private func unwanted(
        _ message: HeldMessage, isCancelled: Bool, by push: Push, on device: Device,
        _ document: User, besides other: HeldBox?, _ alone: Set<String>
    ) throws(Failure) -> Fate {
        var fate = Fate()
        let notification = message.notification
        let release = push.job.notification.id
        let isInDoubt = push.job.file.isInDoubt(push.delivery)
        // A message that may have arrived is not cancelled.
        if !isInDoubt, isCancelled {
            fate.end(.cancelled)
        } else if !isInDoubt, !alone.contains(message.id),
            try intake.isOpen(message.id, forAnyOf: documents.userDevices(of: push, on: device))
        {
            // A drainer was killed between writing the held file and its receipt. The notification itself
            // brings the message.
            fate.isVoid = true
        } else if try hasGot(message.id, device) {
            fate.end(.superseded, .delivered)
            fate.isRepeated = true
        } else if let other, try spool.isHeld(message.id, in: other, besides: release) {
            fate.end(.superseded, .delivered)
            fate.isRepeated = true
        } else if end(of: notification, in: push.job) <= now {
            fate.end(.expired)
        } else if let kind = notification.kind, document.preferences.kinds[kind] == .bool(false) {
            fate.end(.superseded, .unwanted)
        } else if try !selection.admits(notification, document, device, at: now) {
            fate.end(.superseded, .unselected)
        }
        return fate
    }

    /// Decides whether a wanted message is shown, is hidden behind a newer one, or ends.
    ///
    /// - Parameters:
    ///   - ids: all ids of the device.
    ///   - replacements: what was decided about the release's newer messages.
    private func decide(
        _ fate: inout Fate, of notification: Notification, _ series: Series,
        onAnyOf ids: [String], _ replacements: inout Replacements, _ pause: inout Interval?
    ) throws(Failure) {
        if replacements.end(series) { return fate.end(.superseded, .newer) }
        // To ask takes long, and of hundreds of one series only the newest has to.
        if replacements.hide(series) {
            if replacements.suffice(for: notification, series) {
                return fate.end(.superseded, .newer)
            }
            fate.isHidden = true
        } else {
            switch try order.newer(than: series, onAnyOf: ids) {
            case .taken:
                replacements.didEnd(series)
                return fate.end(.superseded, .newer)
            case .expected(let interval): pause = interval
            case nil: break
            }
        }
        replacements.didKeep(notification, series)
    }

    /// Ends the messages that are not sent.
    private func drop(
        _ messages: [HeldMessage], _ fates: [Fate], _ push: Push
    ) throws(Failure) {
        let gone = zip(messages, fates).filter { $0.1.outcome != nil || $0.1.isVoid }
        guard !gone.isEmpty else { return }
        for (message, fate) in gone {
            guard let outcome = fate.outcome else { continue }
            append(
                outcome, fate.reason, ofMessage: message.id, push, isInDoubt: fate.mayHaveArrived)
            if fate.mayHaveArrived, let series = message.notification.series {
                order.recordReached(series, by: push)
            }
        }
        // Before their files are removed, because nothing else records the outcomes.
        try intake.log.commit()
        if let user = push.job.notification.user {
            for (message, fate) in gone
            where fate.outcome != nil && !fate.isRepeated && !fate.mayHaveArrived {
                guard let change = message.notification.badge else { continue }
                try Outbox(state, now: now).takeBackBadges(change, by: message.id, among: [user])
            }
        }
        try spool.forget(gone.map { $0.0 }, now: now)
    }

    private func append(
        _ outcome: Outcome, _ reason: String?, ofMessage id: String, _ push: Push, isInDoubt: Bool
    ) {
        run.summary.count(outcome)
        intake.log.append(
            Attempt(at: now, pushID: nil, reason: reason, outcome: outcome), ofMessage: id,
            push.delivery, in: push.job.file, isInDoubt: isInDoubt)
    }

    /// - Parameter language: the user's language; `nil` if it is not known.
    private func load(
        _ contents: Contents, into push: Push, for language: LanguageTag?
    ) throws(Failure) {
        let job = push.job
        let messages = contents.shown
        guard let newest = messages.last?.notification else { return }
        var (content, shown) = newest.push.translated(for: language)
        if messages.count == 1 {
            content = try content.fitting(newest.badge)
        } else {
            shown = nil
            let payloads = messages.map {
                $0.notification.push.translated(for: language).0.payload(shownOn: spool.service)
            }
            let texts = try run.texts().texts(for: language)
            content = MergedMessages.content(content, payloads, texts, job.extent)
            content.priority = messages.map { $0.notification.push.priority }.max() ?? 10
            content.collapseID = nil
            content.isKept = messages.contains { $0.notification.push.isKept }
        }
        let ends = contents.all.map { end(of: $0.notification, in: job) }
        // The job stays for those that are hidden.
        job.load(content, expires: ends.max() ?? now, in: shown)
        push.limit(to: ends.prefix(messages.count).max() ?? now)
    }

    /// When a message in a release expires.
    private func end(of message: Notification, in release: Job) -> Timestamp {
        message.end(within: release.notification.expires)
    }
}

import JSON
import Turnstone
import Unix

// Each notification of a series has a mark `series/<key>/<scope>/<id>.<from>.<accepted>.json`. The mark is
// made before the notification is accepted, and removed when the notification is finished and no older one
// that it concerns is in the spool, or may come back to it. So a drainer that sends an older notification
// finds the newer ones in the marks, and the devices that have accepted them in the receipts. The names of
// the marks hold their order, so that thousands of them are compared without being read.

extension Spool {
    var seriesFolder: String { "\(folder)/series" }

    private func folder(_ key: String) -> String { "\(seriesFolder)/\(key)" }

    private func folder(_ key: String, _ scope: String) -> String { "\(folder(key))/\(scope)" }

    /// Makes durable marks for a notification that is about to be accepted.
    func mark(_ id: String, in series: Series, acceptedAt now: Timestamp) throws(Failure) {
        var members = series.json.object ?? [:]
        members["receipts"] = try receiptsStart(notBefore: nil, at: now).json
        let name = SeriesMark.name(of: id, in: series)
        for key in series.keys {
            try write("\(folder(key, series.scope))/\(name)") { (writer) throws(Failure) in
                try writer.append(members)
            }
        }
    }

    /// Makes a mark of another queue's notification in this one, or adds to it that the notification was in
    /// that queue as well.
    ///
    /// - Parameter series: one with a key of the mark's.
    func copy(
        _ mark: SeriesMark, in series: Series, from queue: QueueName, at now: Timestamp
    ) throws(Failure) {
        let key = Files.name(of: Files.parent(of: Files.parent(of: mark.path)))
        let path = "\(folder(key, mark.scope))/\(Files.name(of: mark.path))"
        guard let source = mark.members else { return }
        let known = SeriesMark(
            folder: Files.parent(of: path), scope: mark.scope, name: Files.name(of: path))?.members
        var members = known ?? source
        var earlier = members["earlier"]?.object ?? [:]
        for member in source["earlier"]?.object?.members ?? [] {
            earlier[member.name] = earlier[member.name] ?? member.value
        }
        earlier[queue.text] = earlier[queue.text] ?? source["receipts"]
        members["earlier"] = .object(earlier)
        guard members != known else { return }
        if known == nil {
            members["receipts"] = try receiptsStart(notBefore: nil, at: now).json
        }
        try write(path) { (writer) throws(Failure) in try writer.append(members) }
    }

    /// The marks of all notifications that concern one of this series, its own included. They are unfinished,
    /// or newer than an unfinished one or one that was set aside.
    package func marks(of series: Series) throws(Failure) -> [SeriesMark] {
        var marks: [SeriesMark] = []
        for key in series.keys { marks += try self.marks(of: key, concerning: series.scope) }
        return marks
    }

    /// The same for one of the series' keys.
    @export(interface)
    package func marks(
        of key: String, concerning scope: String
    ) throws(Failure) -> [SeriesMark] {
        var scopes = [scope, Series.everybody]
        if scope == Series.everybody { scopes = try names(in: folder(key)) }
        var marks: [SeriesMark] = []
        for scope in scopes { marks += try self.marks(of: key, scope) }
        return marks
    }

    /// Whether a notification that is accepted now may replace one that waits here.
    ///
    /// - Parameter series: the notification's. A mark of the series is of one that waits, or that a crash has
    ///   left.
    func mayReplace(_ series: Series) throws(Failure) -> Bool {
        try marks(of: series).contains { !$0.isScheduled || $0.order < series.order }
    }

    private func marks(of key: String, _ scope: String) throws(Failure) -> [SeriesMark] {
        let folder = folder(key, scope)
        return try names(in: folder).compactMap {
            SeriesMark(folder: folder, scope: scope, name: $0)
        }
    }

    /// Removes the marks of a series that are no longer needed.
    ///
    /// - Parameter id: a notification that is finished, if there is one.
    func tidy(_ series: Series, without id: String?, now: Timestamp) throws(Failure) {
        for key in series.keys { try tidy(key, series.scope, without: id, now: now) }
    }

    private func tidy(
        _ key: String, _ scope: String, without id: String?, now: Timestamp
    ) throws(Failure) {
        let folder = folder(key)
        try removeMarks(
            among: marks(of: key, concerning: scope), of: key, in: scope, without: id, now: now)
        let scopes = try systemCalls(Files.names(in: folder))
        if scope == Series.everybody {
            // Marks that had to stay because of this one go too. If there are more than a hundred users, the
            // rest goes with the next notification to each.
            let all = try marks(of: key, Series.everybody)
            for scope in scopes.prefix(100) where scope != Series.everybody {
                let marks = try marks(of: key, scope) + all
                try removeMarks(among: marks, of: key, in: scope, without: id, now: now)
            }
        }
        // A mark for all users concerns every scope, so it stays until it is the only one.
        if scope != Series.everybody, scopes == [Series.everybody] {
            try removeMarks(
                among: marks(of: key, Series.everybody), of: key, in: Series.everybody,
                without: id, now: now)
        }
        Files.removeEmptyFolder(folder)
    }

    /// Removes what a crash or a race of two programs has left of the series whose keys begin with a byte: their
    /// marks, and unfinished files of marks.
    func sweepSeries(_ byte: UInt8, at now: Timestamp) throws(Failure) {
        // The drainer counts held messages meanwhile, and could renew a mark that has just expired.
        let now = now - .days(1)
        for key in try names(in: seriesFolder) where key.utf8.starts(with: hex([byte]).utf8) {
            let all = try marks(of: key, Series.everybody)
            for scope in try names(in: folder(key)) {
                try removeAbandoned(in: folder(key, scope))
                guard scope != Series.everybody else { continue }
                let marks = try marks(of: key, scope) + all
                try removeMarks(among: marks, of: key, in: scope, without: nil, now: now)
            }
            try tidy(key, Series.everybody, without: nil, now: now)
        }
    }

    /// - Parameter moment: messages that may be held beyond this moment are still held.
    private func isOpen(_ mark: SeriesMark, at moment: Timestamp) throws(Failure) -> Bool {
        guard mark.id == SeriesMark.heldID else {
            if try isOpen(mark.id) { return true }
            return try mayBeRepaired(mark, at: moment)
        }
        return mark.held.map { $0.count > 0 && $0.until > moment } ?? false
    }

    /// Whether a notification's file is in `failed/`, or may be, from where somebody may put it back before the
    /// notification expires. If the file does not tell when that is, it is taken to be a day after the moment from
    /// which the notification holds.
    private func mayBeRepaired(_ mark: SeriesMark, at moment: Timestamp) throws(Failure) -> Bool {
        let name = "\(mark.id).jsonl"
        var end = mark.order.moment + .days(1)
        do throws(SystemError) {
            guard try hasInFailed(name) else { return false }
        } catch {
            guard error.errno.isFileSpecific else { throw error.failure }
        }
        do throws(Failure) {
            if let file = try SpoolFile.open("\(folder)/failed/\(name)") {
                end = file.notification.expires
            }
        } catch {
            guard error.isFileSpecific || Damage.explains(error) else { throw error }
        }
        return end > moment
    }

    /// Changes the number of held messages of a series. While there are any, the marks of newer notifications
    /// must stay.
    ///
    /// - Parameter moment: the latest moment until which the message may be held.
    func countHeld(
        _ change: Int64, in series: Series, until moment: Timestamp, now: Timestamp
    ) throws(Failure) {
        for key in series.keys {
            try countHeld(change, of: key, in: series, until: moment, now: now)
        }
    }

    private func countHeld(
        _ change: Int64, of key: String, in series: Series, until moment: Timestamp, now: Timestamp
    ) throws(Failure) {
        let known = try marks(of: key, series.scope).first { $0.id == SeriesMark.heldID }
        let held = known?.held
        let count = min(max(held?.count ?? 0, 0), 1 << 32) + change
        var oldest = series
        if let known, known.order < series.order { oldest.order = known.order }
        let name = SeriesMark.name(of: SeriesMark.heldID, in: oldest)
        let path = "\(folder(key, series.scope))/\(name)"
        if count > 0 {
            var members = oldest.json.object ?? [:]
            members["until"] = JSONValue(max(held?.until ?? moment, moment))
            members["count"] = .integer(count)
            try write(path) { (writer) throws(Failure) in try writer.append(members) }
        }
        if let known, count <= 0 || known.path != path { Files.remove(known.path) }
    }

    /// Removes the marks of a scope that are older than every unfinished notification in `marks`.
    private func removeMarks(
        among marks: [SeriesMark], of key: String, in scope: String, without id: String?,
        now: Timestamp
    ) throws(Failure) {
        let folder = folder(key, scope)
        for mark in marks.sorted(by: { $0.order < $1.order }) {
            // While this one is open, the marks of newer ones must stay.
            if mark.id != id, try isOpen(mark, at: now) { break }
            if mark.scope == scope { Files.remove(mark.path) }
        }
        Files.removeEmptyFolder(folder)
    }
}

extension Intake {
    /// The ids in receipts (``DeviceToken/publicID``) of the devices that a notification has reached, may have
    /// reached, or would have reached if they could show it. Call ``ReceiptLog/write()`` first: lines that
    /// were only appended are not found.
    @export(interface)
    package func devicesReached(by mark: SeriesMark) throws(Failure) -> [String] {
        guard let receipts = mark.receipts else { return [] }
        var devices: [String] = []
        var isHeld = false
        let read = { (line: JSONObject) -> Bool in
            let outcome = line["outcome"]?.string
            // Held messages are sent after the notification itself is finished.
            if outcome == Outcome.held.rawValue { isHeld = true }
            let isReached =
                outcome == Outcome.accepted.rawValue
                || outcome == Outcome.superseded.rawValue
                    && line["reason"]?.string == ReceiptReason.unsuitable.rawValue
            let isInDoubt = outcome != nil && line["in_doubt"]?.bool == true
            if isReached || isInDoubt, let device = line["device_id"]?.string {
                devices.append(device)
            }
            return !isHeld && line["finished_at"] != nil
        }
        for (queue, start) in receipts.earlier {
            try ReceiptLog(of: Spool(state: spool.state, queue))
                .forEachLine(of: mark.id, from: start, read)
        }
        try forEachReceipt(of: mark.id, from: receipts.own, read)
        return devices
    }

    /// Reads the receipts of a notification from a position on, until `body` returns `true`. If the clock was
    /// ahead when the position was recorded and has been set back since, the earlier days have the rest. So it
    /// is as long as earlier days are written, and if it was tried and the receipts do not name it.
    private func forEachReceipt(
        of id: String, from start: ReceiptLog.Position, _ body: (JSONObject) -> Bool
    ) throws(Failure) {
        var isNamed = false
        var isOver = false
        try log.forEachLine(of: id, from: start) { (line) in
            isNamed = true
            isOver = body(line)
            return isOver
        }
        if isOver { return }
        if log.day >= start.day {
            guard !isNamed, try wasTried(id) else { return }
        }
        try log.forEachLine(of: id, from: .beginning, before: start.day, body)
    }

    /// Whether a notification has left the spool, or has had a pass over its devices.
    private func wasTried(_ id: String) throws(Failure) -> Bool {
        guard let path = try path(of: id) else { return true }
        do throws(Failure) {
            guard let file = try SpoolFile.open(path) else { return true }
            return file.pass > 1
        } catch {
            guard Damage.explains(error) else { throw error }
            return true
        }
    }

    /// Whether a notification has reached a device. Call ``ReceiptLog/write()`` first.
    ///
    /// - Parameters:
    ///   - start: where the notification's receipts begin in a queue's.
    ///   - token: the device's token. Only receipts of messages have a device id, others have the beginning
    ///     of the token.
    ///   - ids: the ids of the device, and of others that were merged with it.
    @export(interface)
    package func hasReached(
        _ notification: String, from start: (QueueName) -> ReceiptLog.Position,
        _ token: DeviceToken, orAnyOf ids: [String]
    ) throws(Failure) -> Bool {
        var hasReached = false
        let read = { (line: JSONObject) -> Bool in
            let isAccepted = line["outcome"]?.string == Outcome.accepted.rawValue
            let isDevice =
                line["device_id"]?.string.map(ids.contains)
                ?? (line["device"]?.string == String(token.text.prefix(8)))
            hasReached = hasReached || isAccepted && isDevice
            return hasReached
        }
        try forEachReceipt(of: notification, from: start(spool.queue), read)
        // It may have been moved here after that.
        let spools = Spools(state: spool.state, shards: spool.queue.count)
        for former in try spools.former(of: spool.service) where !hasReached {
            try ReceiptLog(of: former)
                .forEachLine(of: notification, from: start(former.queue), read)
        }
        return hasReached
    }

    /// The devices that a notification in the spool is still for, and the moment until which it waits there;
    /// `nil` if it is finished or its file is damaged.
    package func open(
        _ id: String, at now: Timestamp
    ) throws(Failure) -> OpenNotification? {
        guard let path = try path(of: id) else { return nil }
        return try spool.openNotification(
            at: path, held[id]?.progress ?? recovered[id] ?? Progress(), now: now)
    }

    /// The moment before which a notification in the spool is not tried; `nil` if it is finished. Its file is
    /// not read.
    package func due(_ id: String, at now: Timestamp) throws(Failure) -> Timestamp? {
        guard let path = try path(of: id) else { return nil }
        let folder = WaitingFolder(name: Files.name(of: Files.parent(of: path)))
        return folder?.due(at: now) ?? Timestamp(milliseconds: 0)
    }

    /// The path of a notification's file; `nil` if it has left the spool.
    func path(of id: String) throws(Failure) -> String? {
        if let path = held[id]?.path { return path }
        return try spool.path(of: id)
    }
}

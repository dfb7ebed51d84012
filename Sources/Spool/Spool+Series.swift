import JSON
import Turnstone
import Unix

// Each notification of a series has a mark `series/<key>/<scope>/<id>.json`, from before it is accepted until it is over
// and no older one that it concerns is in the spool. So the drainer that sends an older one finds the newer ones, and in the
// receipts the devices that have taken them.

/// A notification of a series, as its mark tells.
package struct SeriesMark {
    package let id: String
    package let series: Series
    /// No receipt of it comes before.
    let receipts: ReceiptLog.Position
    /// Of ``heldID``, until when its messages may be held at the most, and how many there are.
    var held: (until: Timestamp, count: Int64)?

    /// The id of the mark that stands for all messages of a series and a scope that are held.
    static let heldID = "held"
}

extension Spool {
    private func folder(of series: Series) -> String { "\(folder)/series/\(series.key)" }

    private func folder(of series: Series, _ scope: String) -> String {
        "\(folder(of: series))/\(scope)"
    }

    /// Makes the mark of a notification that is about to be accepted, durably.
    func mark(_ id: String, in series: Series, acceptedAt now: Timestamp) throws(Failure) {
        var members = series.json.object ?? [:]
        members["receipts"] = try receiptsStart(notBefore: nil, at: now).json
        try write("\(folder(of: series, series.scope))/\(id).json") { (writer) throws(Failure) in
            try writer.append(members)
        }
    }

    /// The notifications of a series that concern one of it, itself among them: those that are not over, or newer than
    /// one that is not.
    package func marks(of series: Series) throws(Failure) -> [SeriesMark] {
        var scopes = [series.scope, Series.everybody]
        if series.scope == Series.everybody {
            scopes = try systemCalls { () throws(SystemError) in
                try Files.names(in: folder(of: series))
            }
        }
        var marks: [SeriesMark] = []
        for scope in scopes { marks += try self.marks(of: series, scope) }
        return marks
    }

    private func marks(of series: Series, _ scope: String) throws(Failure) -> [SeriesMark] {
        let folder = folder(of: series, scope)
        var marks: [SeriesMark] = []
        let names = try systemCalls { () throws(SystemError) in try Files.names(in: folder) }
        for name in names where name.utf8.suffix(5).elementsEqual(".json".utf8) {
            // A mark that cannot be read keeps nobody from being told.
            var bytes: [UInt8]?
            do throws(SystemError) { bytes = try Files.contents("\(folder)/\(name)") } catch {}
            guard let members = bytes.flatMap({ members(of: $0.dropLast()) }),
                let known = Series(.object(members)),
                let receipts = members["receipts"].flatMap(ReceiptLog.Position.init)
            else { continue }
            let id = String(decoding: name.utf8.dropLast(5), as: UTF8.self)
            var mark = SeriesMark(id: id, series: known, receipts: receipts)
            if let until = members["until"]?.timestamp, let count = members["count"]?.integer {
                mark.held = (until, count)
            }
            marks.append(mark)
        }
        return marks
    }

    /// Removes the marks that nobody needs, now that a notification of a series is over.
    func tidy(_ series: Series, without id: String, now: Timestamp) throws(Failure) {
        let folder = folder(of: series)
        try removeMarks(
            among: marks(of: series), in: series.scope, of: series, without: id, now: now)
        let scopes = try systemCalls { () throws(SystemError) in try Files.names(in: folder) }
        // What is for all concerns every scope: it stays until it is the only one.
        if series.scope != Series.everybody, scopes == [Series.everybody] {
            try removeMarks(
                among: marks(of: series, Series.everybody), in: Series.everybody, of: series,
                without: id, now: now)
        }
        Files.removeEmptyFolder(folder)
    }

    private func isOpen(_ mark: SeriesMark, now: Timestamp) throws(Failure) -> Bool {
        if let held = mark.held { return held.count > 0 && held.until > now }
        return try isOpen(mark.id)
    }

    /// Counts the messages of a series that are held: while there are any, newer ones have to be known.
    ///
    /// - Parameter moment: how long a message may be held at the most.
    func countHeld(
        _ change: Int64, in series: Series, until moment: Timestamp, now: Timestamp
    ) throws(Failure) {
        let id = SeriesMark.heldID
        let known = try marks(of: series, series.scope).first { $0.id == id }
        let count = (known?.held?.count ?? 0) + change
        let path = "\(folder(of: series, series.scope))/\(id).json"
        guard count > 0 else {
            Files.remove(path)
            return
        }
        var oldest = series
        if let known, known.series.order < series.order { oldest = known.series }
        var members = oldest.json.object ?? [:]
        members["receipts"] = try receiptsStart(notBefore: nil, at: now).json
        members["until"] = JSONValue(max(known?.held?.until ?? moment, moment))
        members["count"] = .integer(count)
        try write(path) { (writer) throws(Failure) in try writer.append(members) }
    }

    /// Removes the marks of a scope that are older than each notification of `marks` that is not over.
    private func removeMarks(
        among marks: [SeriesMark], in scope: String, of series: Series, without id: String,
        now: Timestamp
    ) throws(Failure) {
        let folder = folder(of: series, scope)
        for mark in marks.sorted(by: { $0.series.order < $1.series.order }) {
            // While it is open, newer ones have to be known.
            if mark.id != id, try isOpen(mark, now: now) { break }
            if mark.series.scope == scope { Files.remove("\(folder)/\(mark.id).json") }
        }
        Files.removeEmptyFolder(folder)
    }
}

extension Intake {
    /// The devices that a notification has reached, as receipts name them (``DeviceToken/publicID``). Call
    /// ``ReceiptLog/write()`` first: what was only appended is not found.
    package func devicesReached(by mark: SeriesMark) throws(Failure) -> [String] {
        try devicesReached(by: mark.id, since: mark.receipts, untilFinished: true)
    }

    /// The same for a message, with what was held of it.
    ///
    /// - Parameter receipts: as ``Spool/receiptsStart(notBefore:at:)`` gave it.
    package func devicesReached(
        by message: String, since receipts: JSONValue
    ) throws(Failure) -> [String] {
        guard let start = ReceiptLog.Position(receipts) else { return [] }
        return try devicesReached(by: message, since: start, untilFinished: false)
    }

    private func devicesReached(
        by id: String, since start: ReceiptLog.Position, untilFinished: Bool
    ) throws(Failure) -> [String] {
        var devices: [String] = []
        var isHeld = false
        try log.forEachLine(of: id, from: start) { line in
            // What was held is brought after the notification itself is over.
            if line["outcome"]?.string == Outcome.held.rawValue { isHeld = true }
            if line["outcome"]?.string == Outcome.accepted.rawValue {
                if let device = line["device_id"]?.string { devices.append(device) }
            }
            return untilFinished && !isHeld && line["finished_at"] != nil
        }
        return devices
    }
}

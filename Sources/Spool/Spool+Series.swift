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
            marks.append(SeriesMark(id: id, series: known, receipts: receipts))
        }
        return marks
    }

    /// Removes the marks that nobody needs, now that a notification of a series is over.
    func tidy(_ series: Series, without id: String) throws(Failure) {
        let folder = folder(of: series)
        try removeMarks(among: marks(of: series), in: series.scope, of: series, without: id)
        let scopes = try systemCalls { () throws(SystemError) in try Files.names(in: folder) }
        // What is for all concerns every scope: it stays until it is the only one.
        if series.scope != Series.everybody, scopes == [Series.everybody] {
            try removeMarks(
                among: marks(of: series, Series.everybody), in: Series.everybody, of: series,
                without: id)
        }
        Files.removeEmptyFolder(folder)
    }

    /// Removes the marks of a scope that are older than each notification of `marks` that is not over.
    private func removeMarks(
        among marks: [SeriesMark], in scope: String, of series: Series, without id: String
    ) throws(Failure) {
        let folder = folder(of: series, scope)
        for mark in marks.sorted(by: { $0.series.order < $1.series.order }) {
            // While it is open, newer ones have to be known.
            if mark.id != id, try isOpen(mark.id) { break }
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
        try log.forEachLine(of: id, from: start) { line in
            if line["outcome"]?.string == Outcome.accepted.rawValue {
                if let device = line["device_id"]?.string { devices.append(device) }
            }
            return untilFinished && line["finished_at"] != nil
        }
        return devices
    }
}

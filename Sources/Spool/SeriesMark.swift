import Turnstone
import Unix

/// A notification of a series, read from the name of its mark.
package struct SeriesMark {
    package let id: String
    package let order: Series.Order
    let scope: String
    let isScheduled: Bool
    let path: String

    /// - Returns: `nil` if the file is not a mark or cannot be read.
    init?(folder: String, scope: String, name: String) {
        let parts = name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
            .map { String(decoding: Array($0), as: UTF8.self) }
        guard parts.last == "json" else { return nil }
        id = parts[0]
        self.scope = scope
        path = "\(folder)/\(name)"
        if parts.count == 2 {
            // A mark of an older program. Only its content has the order.
            guard let series = readMark(path).flatMap({ Series(.object($0)) }) else { return nil }
            order = series.order
            isScheduled = series.isScheduled
            return
        }
        guard parts.count == 4 || parts.count == 5 && parts[3] == "later",
            let moment = Int64(parts[1]), let accepted = Int64(parts[2])
        else { return nil }
        order = Series.Order(from: Timestamp(milliseconds: moment), accepted: accepted)
        isScheduled = parts.count == 5
    }

    static func name(of id: String, in series: Series) -> String {
        let order = "\(series.order.moment.milliseconds).\(series.order.accepted)"
        return "\(id).\(order)\(series.isScheduled ? ".later" : "").json"
    }

    /// The id of the mark that stands for all held messages of a series and a scope.
    static let heldID = "held"

    /// For that mark: the latest moment until which the messages may be held, and their number.
    var held: (until: Timestamp, count: Int64)? {
        guard id == Self.heldID, let members = readMark(path),
            let until = members["until"]?.timestamp, let count = members["count"]?.integer
        else { return nil }
        return (until, count)
    }

    /// The members of the mark; `nil` if it cannot be read.
    var members: JSONObject? { readMark(path) }

    /// Where its receipts begin in its queue, and in those that it was in before it was moved; `nil` if the
    /// mark cannot be read.
    var receipts:
        (
            own: ReceiptLog.Position,
            earlier: [(queue: QueueName, start: ReceiptLog.Position)]
        )?
    {
        guard let members = readMark(path),
            let own = members["receipts"].flatMap(ReceiptLog.Position.init)
        else { return nil }
        let earlier = (members["earlier"]?.object?.members ?? []).compactMap { member in
            QueueName(member.name).flatMap { queue in
                ReceiptLog.Position(member.value).map { (queue: queue, start: $0) }
            }
        }
        return (own.isOfEmptyQueue ? .beginning : own, earlier)
    }
}

/// A mark that cannot be read counts as missing: it must not hold up other notifications.
private func readMark(_ path: String) -> JSONObject? {
    do throws(SystemError) {
        return try Files.contents(path).flatMap { members(of: $0.dropLast()) }
    } catch { return nil }
}

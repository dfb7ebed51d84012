import Turnstone
import Unix

/// The position from which a drainer must read the receipts: `checkpoint.json`.
final class Checkpoint {
    private let path: String
    private var last: ReceiptLog.Position?
    private var lastSearch: ReceiptLog.Position?

    init(_ spool: Spool) {
        path = "\(spool.folder)/checkpoint.json"
    }

    /// - Returns: `nil` if the file is missing, damaged or unreadable. Then all receipts must be read.
    func read() throws(Failure) -> ReceiptLog.Position? {
        let bytes: [UInt8]?
        do throws(SystemError) { bytes = try Files.contents(path) } catch {
            guard error.errno.isFileSpecific else { throw error.failure }
            bytes = nil
        }
        guard let members = bytes.flatMap({ members(of: $0[...]) }),
            let position = ReceiptLog.Position(.object(members))
        else { return nil }
        last = position
        return last
    }

    /// Whether it is worth looking for a new position: at least `distance` bytes were written since this last
    /// returned `true`, or a new day has begun.
    func isWorthwhile(_ end: ReceiptLog.Position, _ distance: Int) -> Bool {
        if let lastSearch, lastSearch.volume == end.volume,
            lastSearch.offset + distance > end.offset
        {
            return false
        }
        lastSearch = end
        return true
    }

    func isNew(_ position: ReceiptLog.Position) -> Bool {
        last.map { $0 != position } ?? (position.offset > 0)
    }

    func write(_ position: ReceiptLog.Position) throws(Failure) {
        var members: JSONObject = ["version": 1]
        for member in position.json.object?.members ?? [] { members[member.name] = member.value }
        try systemCalls(Files.replace(path, with: line(members)))
        last = position
    }
}

import Turnstone
import Unix

/// Where the receipts of notifications begin whose damaged files are in `failed/`: `repairs/<id>.json`, if any
/// device may have been tried. An operator may repair such a file and put it back weeks later. By then the
/// checkpoint is past its receipts, without which everybody whom they name would be sent the notification again.
struct Repairs {
    private let folder: String
    private var starts: [String: ReceiptLog.Position] = [:]
    /// Whether the folder cannot be entered. Any notification may be a repaired one then, so all receipts count.
    private(set) var isClosed = false

    init(_ spool: Spool) { folder = "\(spool.folder)/repairs" }

    /// Reads them for a drainer that begins, and removes those whose receipts are gone.
    mutating func read(at now: Timestamp) throws(Failure) {
        starts = [:]
        isClosed = false
        let oldest = CalendarDate(now - ReceiptLog.retention).dayText
        var names: [String] = []
        do throws(SystemError) {
            names = try Files.names(in: folder)
            // A link to a disk that is not mounted looks like no folder.
            let isFolder = try Files.exists("\(folder)/.")
            if !isFolder, Files.target(ofLink: folder) != nil {
                throw SystemError("list", folder, .noEntry)
            }
        } catch {
            isClosed = true
            guard error.errno.isFileSpecific || error.errno == .noEntry else {
                throw error.failure
            }
            UnusableFiles.record(folder, error.errno.name)
        }
        for name in names {
            guard name.utf8.suffix(5).elementsEqual(".json".utf8) else {
                Files.remove("\(folder)/\(name)")  // what a killed drainer has left
                continue
            }
            let id = String(decoding: Array(name.utf8.dropLast(5)), as: UTF8.self)
            let record = try record(at: path(of: id))
            let start = record.flatMap { ReceiptLog.Position(.object($0)) } ?? .beginning
            let day =
                start == .beginning
                ? record?["at"]?.timestamp.map { CalendarDate($0).dayText } : start.day
            if let day, day < oldest {
                Files.remove(path(of: id))
            } else {
                starts[id] = start
            }
        }
    }

    private func path(of id: String) -> String { "\(folder)/\(id).json" }

    /// - Returns: `nil` if the file cannot be used: all receipts are searched then.
    private func record(at path: String) throws(Failure) -> JSONObject? {
        let bytes: [UInt8]?
        do throws(SystemError) { bytes = try Files.contents(path) } catch {
            guard error.errno.isFileSpecific else { throw error.failure }
            return nil
        }
        return bytes.flatMap { members(of: $0[...]) }
    }

    /// Where the receipts of a notification begin; `nil` if it is not known to have been set aside.
    func start(of id: String) -> ReceiptLog.Position? { starts[id] }

    /// Whether a notification is known to have been set aside.
    func expects(_ id: String) -> Bool { starts[id] != nil }

    /// Records that a notification is set aside.
    ///
    /// - Returns: `false` if that was known: its receipts begin where they began then.
    mutating func expect(
        _ id: String, _ start: ReceiptLog.Position, at now: Timestamp
    ) throws(SystemError) -> Bool {
        if starts[id] != nil { return false }
        var members: JSONObject = ["version": 1, "at": .integer(now.milliseconds)]
        for member in start.json.object?.members ?? [] { members[member.name] = member.value }
        try Files.makeFolder(folder)
        try Files.replace(path(of: id), with: line(members))
        starts[id] = start
        return true
    }

    /// Forgets a notification whose file no longer has the devices that the receipts name.
    mutating func forget(_ id: String) {
        guard starts.removeValue(forKey: id) != nil else { return }
        Files.remove(path(of: id))
    }
}

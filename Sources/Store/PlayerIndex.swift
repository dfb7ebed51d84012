import Documents
import Turnstone
import Unix

/// The watched players and when each is looked at next: one record of 128 bytes per player in
/// `players.index`.
///
/// The whole index can be made again from the users' documents, which are the truth. A record is written
/// before the document that needs it, because a player without a record would never be looked at.
package struct PlayerIndex {
    private let state: State
    private let path: String
    private let file: FileDescriptor

    static let recordSize = 128
    /// The first record is the header, with these bytes in its first word.
    static let magic = Int64(littleEndian: 0x31_52_59_41_4c_50_53_54)  // "TSPLAYR1"

    init(state: State) throws(Failure) {
        self.state = state
        path = "\(state.folder)/players.index"
        file = try Self.opened(path, state)
    }

    private static func opened(_ path: String, _ state: State) throws(Failure) -> FileDescriptor {
        var file: FileDescriptor?
        // A file that cannot be opened is checked again with the lock held.
        do throws(Failure) { file = try open(path) } catch {
            guard error.isFileSpecific else { throw error }
        }
        if let file, try isSound(file) { return file }
        return try Lock.holding(path) { (_) throws(Failure) in try openedLocked(path, state) }
    }

    /// Opens the index with the lock held, so that nobody else replaces it.
    private static func openedLocked(
        _ path: String, _ state: State
    ) throws(Failure) -> FileDescriptor {
        // A file that is really unusable fails twice.
        for isLast in [false, true] {
            do throws(Failure) {
                let file = try open(path)
                if try isSound(file) { return file }
                break
            } catch {
                guard error.isFileSpecific else { throw error }
                if isLast { try setAside(path) }
            }
        }
        try rebuild(path, state)
        return try open(path)
    }

    /// Moves an index that cannot be opened (root's file, a FIFO) out of the way. It can be made again.
    private static func setAside(_ path: String) throws(Failure) {
        let copy = "\(path).corrupt-\(Timestamp.systemNow.milliseconds)"
        try systemCalls(Files.rename(path, copy))
        UnusableFiles.record(copy, nil)
    }

    private static func open(_ path: String) throws(Failure) -> FileDescriptor {
        try systemCalls(FileDescriptor.open(path, .update))
    }

    /// Records of 16 million players. A cycle reads all of them, so no cycle has made a larger file.
    private static let largest = recordSize << 24

    private static func isSound(_ file: FileDescriptor) throws(Failure) -> Bool {
        try systemCalls { () throws(SystemError) in
            guard try file.size() <= largest else { return false }
            return try file.read(upTo: 8, at: 0) == words([magic])
        }
    }

    /// Makes the index from the users' documents, with the lock held.
    private static func rebuild(_ path: String, _ state: State) throws(Failure) {
        var bytes = record([magic])
        // Players in a folder that cannot be listed now get their records later: `repair(report:)`.
        try state.users.forEachName(unlisted: { $0.recordFile() }) { (name) throws(Failure) in
            guard let player = PlayerID(name) else { return }
            let isWatched: Bool
            do throws(Failure) {
                isWatched =
                    try state.users[player].read()?.isWatched(with: state.services) == true
            } catch {
                isWatched = true  // a damaged document must not hide the others, nor be forgotten
            }
            if isWatched { bytes += record([player.number, 1]) }
        }
        try systemCalls(Files.replace(path, with: bytes))
    }

    /// Makes sure that the player is looked at soon and judged again. The record is durable when this
    /// returns.
    ///
    /// - Parameter hint: where the record may be.
    /// - Returns: where it is.
    func watch(_ player: PlayerID, hint: Int64?) throws(Failure) -> Int64 {
        if let hint, try start(of: hint).player == player.number {
            try renew(hint, in: file)
            return hint
        }
        return try add(player, isNew: hint == nil)
    }

    /// Whether the player is looked at.
    ///
    /// - Parameter hint: where the record may be.
    func isWatching(_ player: PlayerID, hint: Int64?) throws(Failure) -> Bool {
        guard let hint else { return false }
        let start = try start(of: hint)
        return start.player == player.number && start.watched == 1
    }

    /// - Parameter isWatched: whether the player is looked at. A player without a device has a record too,
    ///   once ``repair(report:)`` has seen that.
    private func add(
        _ player: PlayerID, isNew: Bool, isWatched: Bool = true
    ) throws(Failure) -> Int64 {
        let (file, number) = try Lock.holding(path) { (_) throws(Failure) in
            // Opened again: another process may have replaced the index meanwhile.
            let file = try Self.openedLocked(path, state)
            let size = try systemCalls(file.size())
            // A player's first device has no record yet, unless a crash left one. In a large index, searching
            // for that takes longer than everything else, and two records only cost a second look.
            if !isNew || size < 1 << 20, let found = try Self.records(file, path).first(of: player)
            {
                if isWatched { try renew(found, in: file) }
                return (file, found)
            }
            let number = Int64(size / Self.recordSize)
            try write(
                record([player.number, isWatched ? 1 : 0]), at: Int(number) * Self.recordSize,
                in: file)
            return (file, number)
        }
        // Without the lock, so that in a crowd nobody waits for more than one disk operation.
        try systemCalls(file.synchronize())
        return number
    }

    /// Lets a player whose looks fail be looked at in the next cycle, because a registration expects an
    /// answer.
    func forgetFailures(of player: PlayerID, hint: Int64) throws(Failure) {
        guard try start(of: hint).player == player.number else { return }
        let place = Int(hint) * Self.recordSize + PlayerRecords.Field.notBefore.rawValue
        let none = words([0, 0])
        let known = try systemCalls(file.read(upTo: 16, at: place))
        guard known != none else { return }
        try write(none, at: place, in: file)
        try systemCalls(file.synchronize())
    }

    /// Marks the record as watched and not judged yet, durably.
    private func renew(_ record: Int64, in file: FileDescriptor) throws(Failure) {
        let place = Int(record) * Self.recordSize
        try write(words([0, 0]), at: place + PlayerRecords.Field.notBefore.rawValue, in: file)
        try write(words([1]), at: place + PlayerRecords.Field.watched.rawValue, in: file)
        try write(words([0]), at: place + PlayerRecords.Field.judged.rawValue, in: file)
        try systemCalls(file.synchronize())
    }

    private func start(of record: Int64) throws(Failure) -> (player: Int64?, watched: Int64?) {
        guard record > 0, record < 1 << 40 else { return (nil, nil) }
        let bytes = try systemCalls(file.read(upTo: 16, at: Int(record) * Self.recordSize))
        guard bytes.count == 16 else { return (nil, nil) }
        return (word(bytes[..<8]), word(bytes[8...]))
    }

    private func write(_ bytes: [UInt8], at place: Int, in file: FileDescriptor) throws(Failure) {
        try systemCalls(file.write(bytes, at: place))
    }

    /// The index as mapped memory, in its present length.
    package func records() throws(Failure) -> PlayerRecords { try Self.records(file, path) }

    private static func records(
        _ file: FileDescriptor, _ path: String
    ) throws(Failure) -> PlayerRecords {
        let mapped = try systemCalls { () throws(SystemError) -> MappedFile? in try MappedFile(file)
        }
        guard let mapped else {
            throw Failure(.broken, "unable to map \(path): the file is empty", cause: "corrupt")
        }
        return PlayerRecords(mapped)
    }

    /// Runs `body` with the index locked, so that no other cycle claims records meanwhile.
    package func locked<Result>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        try Lock.holding(path) { (_) throws(Failure) in try body() }
    }
}

extension PlayerIndex {
    /// Makes sure that every player with a device is looked at, even if the index is older than the users'
    /// documents, as in a copy of a live folder.
    ///
    /// If neither the index nor the users' folders nor the push services that can be reached have changed
    /// since the last time, it reads nothing else.
    ///
    /// - Parameter report: gets each error that keeps a player from being checked; that player is checked the
    ///   next time.
    /// - Returns: how many players were missing.
    @export(interface)
    package func repair(report: (Failure) -> Void) throws(Failure) -> Int {
        let records = try records()
        let folders = try state.users.folderStamps()
        let sign = folders.reduce(records.sign) { mixed($0, $1.sign) }
        let hasSameServices = records.comparedServices == state.services.bits
        guard records.comparedSign != sign || !hasSameServices else { return 0 }
        let known = records.players()
        // A document's time may be earlier than its folder's by as long as the disk took.
        // Another push service may reach devices that could not be reached before.
        let edge = hasSameServices ? records.comparedUntil.saturatingSubtract(60_000) : .min
        var doubtful: [PlayerID] = []
        var isComplete = true
        try state.users.forEachName(
            unlisted: {
                isComplete = false
                report($0)
            }
        ) { (name) throws(Failure) in
            guard let player = PlayerID(name), !known.watched.contains(player.number) else {
                return
            }
            guard known.unwatched.contains(player.number) else { return doubtful.append(player) }
            if try state.users[player].changed() ?? .max > edge {
                doubtful.append(player)
            }
        }
        var count = 0
        for player in doubtful {
            do throws(Failure) {
                if try state.registry.repair(player, in: self) {
                    count += 1
                } else if !known.unwatched.contains(player.number) {
                    _ = try add(player, isNew: true, isWatched: false)
                }
            } catch {
                isComplete = false
                report(error)
            }
        }
        // A change in the instant of the comparison may leave a folder's time as it was.
        let newest = folders.reduce(0) { max($0, $1.changed) }
        if isComplete, newest < Timestamp.systemNow.milliseconds - 1000 {
            records.recordComparison(sign, until: newest, with: state.services)
        }
        return count
    }
}

private func words(_ values: [Int64]) -> [UInt8] {
    var bytes: [UInt8] = []
    for value in values {
        for shift in stride(from: 0, to: 64, by: 8) {
            bytes.append(UInt8(truncatingIfNeeded: value >> Int64(shift)))
        }
    }
    return bytes
}

private func word(_ bytes: ArraySlice<UInt8>) -> Int64 {
    bytes.reversed().reduce(0) { $0 << 8 | Int64($1) }
}

private func record(_ values: [Int64]) -> [UInt8] {
    let bytes = words(values)
    return bytes + [UInt8](repeating: 0, count: PlayerIndex.recordSize - bytes.count)
}

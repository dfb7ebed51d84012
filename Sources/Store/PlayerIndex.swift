import Turnstone
import Unix

/// Who is looked at, and when next: one record of 128 bytes per watched player in `players.index`.
///
/// All of it can be made again from the users' documents, so nothing in it is the truth. A record is
/// written before the document that needs it, since a player without one would never be looked at.
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
        let file = try open(path)
        if try isSound(file) { return file }
        try Lock.holding(path) { (_) throws(Failure) in
            if try !isSound(open(path)) { try rebuild(path, state) }
        }
        return try open(path)
    }

    private static func open(_ path: String) throws(Failure) -> FileDescriptor {
        try systemCalls { () throws(SystemError) in try FileDescriptor.open(path, .update) }
    }

    private static func isSound(_ file: FileDescriptor) throws(Failure) -> Bool {
        let header = try systemCalls { () throws(SystemError) in try file.read(upTo: 8, at: 0) }
        return header == words([magic])
    }

    /// Makes the index from the users' documents, with the lock held.
    private static func rebuild(_ path: String, _ state: State) throws(Failure) {
        var bytes = record([magic])
        try state.users.forEachName { (name) throws(Failure) in
            guard let player = PlayerID(name) else { return }
            let isWatched: Bool
            do throws(Failure) {
                isWatched = try state.users.read(DocumentName(UserID(player)))?.hasDevice == true
            } catch {
                isWatched = true  // a damaged document must not hide the others, nor be forgotten
            }
            if isWatched { bytes += record([player.number, 1]) }
        }
        try systemCalls { () throws(SystemError) in try Files.replace(path, with: bytes) }
    }

    /// Sees to it that the player is looked at, soon and with fresh eyes, and durably.
    ///
    /// - Parameter hint: where the record may be.
    /// - Returns: where it is.
    func watch(_ player: PlayerID, hint: Int64?) throws(Failure) -> Int64 {
        if let hint, try self.player(at: hint) == player.number {
            try renew(hint)
            return hint
        }
        return try locked { () throws(Failure) in try add(player, isNew: hint == nil) }
    }

    private func add(_ player: PlayerID, isNew: Bool) throws(Failure) -> Int64 {
        let size = try systemCalls { () throws(SystemError) in try file.size() }
        // A player's first device has no record, unless a crash left one. Looking for that takes longer than
        // all else in a large index, and two records cost no more than a second look.
        if !isNew || size < 1 << 20, let found = try records().first(of: player) {
            try renew(found)
            return found
        }
        let number = Int64(size / Self.recordSize)
        try write(record([player.number, 1]), at: Int(number) * Self.recordSize)
        return number
    }

    /// Marks the record as watched and not judged yet.
    private func renew(_ record: Int64) throws(Failure) {
        let place = Int(record) * Self.recordSize
        try write(words([1]), at: place + PlayerRecords.Field.watched.rawValue)
        try write(words([0]), at: place + PlayerRecords.Field.judged.rawValue)
    }

    private func player(at record: Int64) throws(Failure) -> Int64? {
        guard record > 0, record < 1 << 40 else { return nil }
        let bytes = try systemCalls { () throws(SystemError) in
            try file.read(upTo: 8, at: Int(record) * Self.recordSize)
        }
        return bytes.count == 8 ? word(bytes) : nil
    }

    private func write(_ bytes: [UInt8], at place: Int) throws(Failure) {
        try systemCalls { () throws(SystemError) in
            try file.write(bytes, at: place)
            try file.synchronize()
        }
    }

    /// The index as memory, as long as it is now.
    package func records() throws(Failure) -> PlayerRecords {
        let mapped = try systemCalls { () throws(SystemError) -> MappedFile? in try MappedFile(file)
        }
        guard let mapped else {
            throw Failure(.broken, "unable to map \(path): it is empty", cause: "corrupt")
        }
        return PlayerRecords(mapped)
    }

    /// Holds off other cycles while records are claimed.
    package func locked<Result>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        try Lock.holding(path) { (_) throws(Failure) in try body() }
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

private func word(_ bytes: [UInt8]) -> Int64 {
    bytes.reversed().reduce(0) { $0 << 8 | Int64($1) }
}

private func record(_ values: [Int64]) -> [UInt8] {
    let bytes = words(values)
    return bytes + [UInt8](repeating: 0, count: PlayerIndex.recordSize - bytes.count)
}

import Documents
import JSON
import Turnstone
import Unix

/// What `check-turns` remembers of the watched players: a cache of the one process that is elected to look,
/// in `watch/index`. The marks say who is watched (``WatchMarks``); the index is made again from them.
///
/// Nothing that the file says can harm anybody: a player who is missing in it is found by the sum of all
/// records, and what it says of a player's games is compared with the look's document.
package final class PlayerIndex {
    private let state: State
    private let lock: FileDescriptor
    private let term: Int64
    private var file: FileDescriptor?
    private var header: IndexHeader
    package let records: PlayerRecords
    /// Whether players were added or removed, or watched or not, since the last flush.
    private var isChanged = false
    private var isHeaderChanged = false

    /// Waits for the election for up to `patience`.
    ///
    /// - Returns: `nil` if another process looks meanwhile.
    static func elected(_ state: State, patience: Interval) throws(Failure) -> PlayerIndex? {
        let path = state.lookerLock
        while true {
            try systemCalls(Files.makeFolder(state.marks.folder))
            let lock = try systemCalls(FileDescriptor.open(path, .update))
            guard try systemCalls(lock.lock(patience: patience)) else { return nil }
            if try systemCalls(lock.isStill(at: path)) {
                do throws(Failure) { return try PlayerIndex(state, lock) } catch {
                    lock.unlock()
                    throw error
                }
            }
            lock.unlock()
        }
    }

    private init(_ state: State, _ lock: FileDescriptor) throws(Failure) {
        self.state = state
        self.lock = lock
        // Opened with the lock held, to see what another machine has written.
        let last = try systemCalls { () throws(SystemError) in
            try Self.term(in: FileDescriptor.open(state.lookerLock, .read))
        }
        term = last.saturatingAdd(1)
        let opened = try Self.open(state.indexPath)
        file = opened?.file
        header = opened?.header ?? IndexHeader()
        records = opened?.records ?? PlayerRecords(WordTable(blockSize: PlayerRecords.size))
        try systemCalls(signLock())
    }

    /// Lets another process be elected.
    package func end() { lock.unlock() }

    // MARK: The term

    private static let signLength = 256

    private static func term(in file: FileDescriptor) throws(SystemError) -> Int64 {
        let bytes = try file.read(upTo: signLength, at: 0)
        do throws(JSONError) { return try JSON.parse(bytes).object?["term"]?.count ?? 0 } catch {
            return 0
        }
    }

    private func signLock() throws(SystemError) {
        let sign = JSON.text([
            "term": .integer(term), "host": .string(ThisMachine.name),
            "pid": .integer(Int64(ThisProcess.id)),
        ])
        let blanks = [UInt8](
            repeating: UInt8(ascii: " "), count: max(0, Self.signLength - sign.count - 1))
        try lock.write(sign + blanks + [UInt8(ascii: "\n")], at: 0)
        // A network file system shows other machines what was written only then.
        try lock.synchronizeData()
    }

    /// Checks that nobody else was elected meanwhile, as on a shared file system that has given away the lock
    /// of a host that stood still. The lock file is opened anew, because such a file system shows other hosts'
    /// changes only then.
    ///
    /// - Throws: later, if somebody was.
    package func checkTerm() throws(Failure) {
        let path = state.lookerLock
        let current = try systemCalls { () throws(SystemError) in
            try Self.term(in: FileDescriptor.open(path, .read))
        }
        guard current != term else { return }
        throw Failure(
            .later(seconds: 5),
            "unable to go on: another check-turns was elected while this one stood still",
            cause: "replaced")
    }

    // MARK: The file

    private typealias Opened = (file: FileDescriptor, header: IndexHeader, records: PlayerRecords)

    /// Records of 16 million players.
    private static let largest = PlayerRecords.size << 24

    /// - Returns: `nil` if there is no usable index.
    private static func open(_ path: String) throws(Failure) -> Opened? {
        do throws(SystemError) {
            let file = try FileDescriptor.open(path, .overwrite)
            guard try file.size() <= largest, let header = try IndexHeader(file) else { return nil }
            let table = try WordTable(
                blockSize: PlayerRecords.size, reading: file, at: IndexHeader.size)
            return (file, header, PlayerRecords(table))
        } catch {
            if error.errno == .noEntry { return nil }
            guard error.errno.isFileSpecific else { throw error.failure }
        }
        // Root's file, a FIFO, a folder: it can be made again.
        let copy = "\(path).corrupt-\(Timestamp.systemNow.milliseconds)"
        try systemCalls(Files.rename(path, copy))
        UnusableFiles.record(copy, nil)
        return nil
    }

    /// Writes what has changed.
    ///
    /// - Throws: also if another process was elected meanwhile; then nothing is written.
    package func flush() throws(Failure) {
        try checkTerm()
        if isChanged {
            header.sum = records.sum
            isHeaderChanged = true
        }
        try systemCalls { () throws(SystemError) in
            let path = state.indexPath
            let file: FileDescriptor
            if let known = self.file {
                file = known
            } else {
                try Files.replace(path, with: IndexHeader().bytes, durably: false)
                file = try FileDescriptor.open(path, .overwrite)
                self.file = file
                isHeaderChanged = true
            }
            try records.table.flush(to: file, at: IndexHeader.size)
            // The header says that the records are complete, so it must not be on disk before they are.
            if isChanged { try file.synchronizeData() }
            if isHeaderChanged { try file.write(header.bytes, at: 0) }
        }
        isChanged = false
        isHeaderChanged = false
    }
}

extension PlayerIndex {
    /// The marks and users' documents of a shard may have changed for as long as this without a trace in
    /// their folders' times: two changes within one tick of the file system's clock, or lists that a network
    /// file system keeps for a second or two.
    private static let settling: Int64 = 3000

    /// All marks are read again after this time, whatever the folders' times say.
    private static let longestTrust = Interval.hours(1)

    /// Brings the index up to date with the marks, and makes marks for players with a device who have none, as
    /// in a folder of an earlier version or in a copy of a live folder.
    ///
    /// If no folder of marks or users has changed since the last time, it reads nothing else.
    ///
    /// - Parameter report: gets each error that keeps a player from being checked; that player is checked the
    ///   next time.
    /// - Returns: how many players had no mark.
    package func update(report: (Failure) -> Void) throws(Failure) -> Int {
        let present = try systemCalls(lock.changed())
        try importFirstIndex(report)
        try forgetAsAsked(report)
        let services = state.services.bits
        let hasSameServices = header.services == services
        let age = Timestamp(milliseconds: present) - Timestamp(milliseconds: header.checked)
        let isWhole =
            !hasSameServices || header.sum != records.sum || age > Self.longestTrust
            || age < .seconds(-60)
        var changed: [(shard: Int, stamps: IndexHeader.Shard)] = []
        for shard in 0..<256 {
            let stamps = try stamps(of: shard)
            if isWhole || stamps != header.shards[shard] { changed.append((shard, stamps)) }
        }
        guard !changed.isEmpty else { return 0 }
        var known = records(in: Set(changed.map { Int64($0.shard) + 1 }))
        var count = 0
        var isComplete = true
        for (shard, stamps) in changed {
            let last = header.shards[shard]
            // A document's time may be earlier than its folder's by as long as the disk took.
            let edge = hasSameServices ? last.usersChanged.saturatingSubtract(60_000) : .min
            let result = try compare(shard, known[shard], since: edge, &known.free, report)
            count += result.count
            let newest = max(stamps.marksChanged, stamps.usersChanged)
            guard result.isComplete else {
                isComplete = false
                continue
            }
            guard newest < present - Self.settling else { continue }
            header.shards[shard] = stamps
            isHeaderChanged = true
        }
        if isWhole, isComplete {
            header.services = services
            header.checked = present
            isHeaderChanged = true
        }
        return count
    }

    private func stamps(of shard: Int) throws(Failure) -> IndexHeader.Shard {
        func stamp(_ folder: String) throws(Failure) -> Files.Stamp? {
            do throws(SystemError) { return try Files.stamp(of: folder) } catch {
                // `health` reports this folder.
                guard error.errno.isFileSpecific else { throw error.failure }
                return nil
            }
        }
        return IndexHeader.Shard(
            marks: try stamp(state.marks.shard(shard)),
            users: try stamp("\(state.users.folder)/\(hex([UInt8(shard)]))"))
    }

    /// Records by shard and player, and erased ones.
    private struct Known {
        var players: [Int: [Int64: Int64]] = [:]
        var free: [Int64] = []

        subscript(shard: Int) -> [Int64: Int64] { players[shard] ?? [:] }
    }

    private func records(in shards: Set<Int64>) -> Known {
        var known = Known()
        for record in 1..<records.count {
            let player = records[record, .player]
            let shard = records[record, .shard]
            if player == 0 {
                known.free.append(record)
            } else if shards.contains(shard) {
                known.players[Int(shard) - 1, default: [:]][player] = record
            } else if !(1...256).contains(shard) {
                // Not a record of ours.
                records.erase(record)
                known.free.append(record)
                isChanged = true
            }
        }
        return known
    }

    /// Compares one shard's records with its marks and documents.
    private func compare(
        _ shard: Int, _ known: [Int64: Int64], since edge: Int64, _ free: inout [Int64],
        _ report: (Failure) -> Void
    ) throws(Failure) -> (count: Int, isComplete: Bool) {
        var marked: Set<Int64> = []
        var doubtful: [PlayerID] = []
        do throws(Failure) {
            for player in try state.marks.players(inShard: shard) {
                marked.insert(player.number)
                guard let record = known[player.number] else {
                    add(player, shard, isWatched: true, &free)
                    continue
                }
                guard records[record, .watched] != 1 else { continue }
                records.renew(record)
                isChanged = true
            }
        } catch {
            guard error.isFileSpecific else { throw error }
            error.recordFile()
            report(error)
            return (0, false)
        }
        for (number, record) in known where records[record, .watched] == 1 {
            guard !marked.contains(number), let player = PlayerID(number: number) else { continue }
            doubtful.append(player)
        }
        var isComplete = true
        var named: Set<Int64> = []
        do throws(Failure) {
            try state.users.forEachName(inShard: hex([UInt8(shard)])) { (name) throws(Failure) in
                guard let player = PlayerID(name) else { return }
                named.insert(player.number)
                guard !marked.contains(player.number) else { return }
                guard let record = known[player.number] else { return doubtful.append(player) }
                guard records[record, .watched] != 1 else { return }
                if try state.users[player].changed() ?? .max > edge { doubtful.append(player) }
            }
            for (number, record) in known where !named.contains(number) && !marked.contains(number)
            {
                // The user was erased.
                records.erase(record)
                free.append(record)
                isChanged = true
            }
        } catch {
            guard error.isFileSpecific else { throw error }
            error.recordFile()
            report(error)
            isComplete = false
        }
        var count = 0
        for player in doubtful where named.contains(player.number) || !isComplete {
            do throws(Failure) {
                let isMissing = try state.registry.repair(player)
                if isMissing { count += 1 }
                let isWatched = try isMissing ? true : state.marks.contains(player)
                guard let record = known[player.number] else {
                    // A player without a device has a record too, so that the document is not read again.
                    add(player, shard, isWatched: isWatched, &free)
                    continue
                }
                if isWatched { records.renew(record) } else { records.unwatch(record) }
                isChanged = true
            } catch {
                isComplete = false
                report(error)
            }
        }
        return (count, isComplete)
    }

    private func add(_ player: PlayerID, _ shard: Int, isWatched: Bool, _ free: inout [Int64]) {
        _ = records.add(player, isWatched: isWatched, shard: shard, in: free.popLast())
        isChanged = true
    }

    /// Stops looking at a player without a device. The caller holds the lock of the user's document.
    package func unwatch(_ player: PlayerID, _ record: Int64) {
        guard state.marks.remove(player) else { return }
        records.unwatch(record)
        isChanged = true
    }

    /// Forgets a player who has no document.
    package func erase(_ player: PlayerID, _ record: Int64) throws(Failure) {
        try state.users[player].whileAbsent {
            guard state.marks.remove(player) else { return }
            records.erase(record)
            isChanged = true
        }
    }

    /// Forgets what other programs have asked to forget.
    private func forgetAsAsked(_ report: (Failure) -> Void) throws(Failure) {
        var players: [PlayerID] = []
        do throws(Failure) { players = try state.marks.askedAgain() } catch {
            guard error.isFileSpecific else { throw error }
            error.recordFile()
        }
        guard !players.isEmpty else { return }
        let numbers = Set(players.map(\.number))
        for record in 1..<records.count where numbers.contains(records[record, .player]) {
            records.forget(record)
        }
        // Before the requests are gone, and these before the players are judged: a request that is made again
        // meanwhile is made under the lock under which they are judged.
        do throws(Failure) { try flush() } catch {
            guard error.cause != "replaced" else { throw error }
            // A full disk. The requests stay.
            return report(error)
        }
        for player in players { state.marks.removeRequest(player) }
    }
}

extension PlayerIndex {
    /// Takes over `players.index` of an earlier version: its players get marks, and what it knows of them is
    /// kept. Programs of that version that still run may write it again.
    private func importFirstIndex(_ report: (Failure) -> Void) throws(Failure) {
        let path = "\(state.folder)/players.index"
        let isThere = try systemCalls(Files.exists(path))
        guard isThere else { return }
        do throws(Failure) {
            try Lock.holding(path) { (_) throws(Failure) in
                try importRecords(path)
                try flush()
                try systemCalls { () throws(SystemError) in
                    guard Files.remove(path) else { throw SystemError("remove", path) }
                }
                Files.remove("\(path).lock")
            }
        } catch {
            guard error.isFileSpecific || error.cause == "busy" else { throw error }
            // The players are found in `users/` all the same.
            report(error)
        }
    }

    private func importRecords(_ path: String) throws(Failure) {
        let table = try systemCalls { () throws(SystemError) -> WordTable? in
            let file = try FileDescriptor.open(path, .read)
            guard try file.size() <= Self.largest else { return nil }
            return try WordTable(blockSize: PlayerRecords.size, reading: file, at: 0)
        }
        // "TSPLAYR1"; the first record is the header.
        guard let table, table.count > 1,
            table[0, 0] == Int64(littleEndian: 0x31_52_59_41_4c_50_53_54)
        else { return }
        var known: [Int64: Int64] = [:]
        for record in 1..<records.count { known[records[record, .player]] = record }
        var shards: Set<Int> = []
        for block in 1..<table.count {
            guard let player = PlayerID(number: table[block, 0]), table[block, 1] == 1 else {
                continue
            }
            // Only for users who exist: the record of an erased one may be left.
            guard try state.users[player].changed() != nil else { continue }
            let shard = WatchMarks.shard(of: player)
            try systemCalls { () throws(SystemError) in try state.marks.addLater(player) }
            shards.insert(shard)
            guard known[player.number] == nil else { continue }
            let record = records.add(player, isWatched: true, shard: shard, in: nil)
            known[player.number] = record
            for word in PlayerRecords.Field.claimed.rawValue..<PlayerRecords.Field.shard.rawValue {
                records.table[Int(record) - 1, word] = table[block, word]
            }
        }
        for shard in shards {
            try systemCalls { () throws(SystemError) in try state.marks.synchronize(shard) }
        }
        isChanged = true
    }
}

extension State {
    var indexPath: String { "\(marks.folder)/index" }
    var lookerLock: String { "\(marks.folder)/looker.lock" }

    /// The right to look at players, with what is known of them.
    ///
    /// - Returns: `nil` if another process still has it after `patience`.
    package func playerIndex(
        patience: Interval = .seconds(5)
    ) throws(Failure) -> PlayerIndex? {
        try PlayerIndex.elected(self, patience: patience)
    }

    /// What the looker knows of a player, as a request may read it.
    ///
    /// - Parameter record: where the player's record may be.
    package func glimpse(of player: PlayerID, at record: Int64?) -> PlayerRecords.Glimpse? {
        guard let record, record > 0, record < 1 << 40 else { return nil }
        do throws(SystemError) {
            let file = try FileDescriptor.open(indexPath, .read)
            let place = IndexHeader.size + (Int(record) - 1) * PlayerRecords.size
            return PlayerRecords.Glimpse(
                try file.read(upTo: PlayerRecords.size, at: place), of: player)
        } catch { return nil }
    }

    /// Fills the player's records with zeros, and removes the mark. A cycle that runs meanwhile may write a
    /// record again; the next one finds that the document is gone.
    ///
    /// - Returns: how many records and marks there were.
    func eraseRecords(of player: PlayerID) throws(Failure) -> Int {
        var count = 0
        if try marks.contains(player) {
            guard marks.remove(player) else {
                throw SystemError("remove", marks.shard(WatchMarks.shard(of: player))).failure
            }
            count += 1
        }
        marks.removeRequest(player)
        try systemCalls { () throws(SystemError) in
            for (path, start) in [
                (indexPath, IndexHeader.size), ("\(folder)/players.index", PlayerRecords.size),
            ] {
                guard try Files.exists(path) else { continue }
                let file = try FileDescriptor.open(path, .overwrite)
                let table = try WordTable(
                    blockSize: PlayerRecords.size, reading: file, at: start)
                let records = PlayerRecords(table)
                for record in 1..<records.count
                where records[record, .player] == player.number {
                    records.erase(record)
                    count += 1
                }
                try table.flush(to: file, at: start)
                if count > 0 { try file.synchronize() }
            }
        }
        return count
    }
}

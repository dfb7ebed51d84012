import Documents
import Turnstone
import Unix

/// The players, and when each is looked at next: a cache of the marks in `watch/`, so that a cycle reads one
/// file. It belongs to the process that is elected to look, and no other reads or writes it.
///
/// It lists the marks of each folder that has changed since, and reads those of players whom it does not know
/// or whose looks fail. What has been lost or changed in other marks is found when their players are looked at.
package final class PlayerIndex {
    private let state: State
    private var entries: [Entry] = []
    private var stamps = FolderStamps()
    /// Whether the file has to be written.
    private var isChanged = false

    struct Entry: Equatable {
        let player: PlayerID
        let shard: Int
        /// Whether the player has a mark. The other players have no device, and their documents need not be
        /// read again.
        var isWatched: Bool
        /// The last slot.
        var slot = Timestamp.never
        /// When the last look began. This and the next members are copies from the mark.
        var looked = Timestamp.never
        var notBefore = Timestamp.never
        var failures: Int64 = 0

        mutating func take(_ mark: WatchMark) {
            slot = mark.slot
            (looked, notBefore, failures) = mark.delay
        }
    }

    private init(_ state: State) throws(Failure) {
        self.state = state
        let path = Self.path(in: state)
        var bytes: [UInt8]?
        do throws(SystemError) { bytes = try Files.contents(path, limit: Self.largest) } catch {
            guard error.errno.isFileSpecific else { throw error.failure }
            try Self.setAside(path)
        }
        if let bytes, FirstPlayerIndex.isOne(bytes) {
            try FirstPlayerIndex(bytes).makeMarks(in: state)
        }
        guard let bytes, let content = Self.content(bytes) else {
            isChanged = true
            return
        }
        (entries, stamps) = content
    }

    static func path(in state: State) -> String { "\(state.folder)/players.index" }

    /// Moves an index that cannot be opened (root's file, a FIFO) out of the way. It can be made again.
    private static func setAside(_ path: String) throws(Failure) {
        let copy = "\(path).corrupt-\(Timestamp.systemNow.milliseconds)"
        try systemCalls(Files.rename(path, copy))
        UnusableFiles.record(copy, nil)
    }

    /// Runs `body` as the only one who looks at players, unless another process does. Waits for that process
    /// for as long as a cycle may be late for its slot.
    ///
    /// - Returns: `nil` if another process looks at players.
    package static func electing<Result>(
        in state: State, _ body: (PlayerIndex) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        var isElected = false
        do throws(Failure) {
            return try Lock.waiting(upTo: .seconds(5)) { () throws(Failure) in
                try Lock.holding(path(in: state)) { (_) throws(Failure) in
                    isElected = true
                    return try Lock.waiting(upTo: .seconds(2), recording: true) {
                        () throws(Failure) in
                        try body(PlayerIndex(state))
                    }
                }
            }
        } catch {
            guard !isElected, error.cause == FailureCause.busy else { throw error }
            return nil
        }
    }

    /// Writes what has changed. Not synced: the index can be made again.
    ///
    /// Compares once more, because a user who was erased meanwhile must not come back.
    package func save(report: (Failure) -> Void) throws(Failure) {
        guard isChanged else { return }
        _ = try compare(report: report)
        try write()
    }

    private func write() throws(Failure) {
        try systemCalls(Files.replace(Self.path(in: state), with: bytes, durably: false))
        isChanged = false
    }

    /// Removes an erased user. Without the election: the process that has it compares before it writes.
    static func erase(_ player: PlayerID, in state: State) throws(Failure) {
        guard try systemCalls(Files.exists(path(in: state))) else { return }
        do throws(Failure) {
            try Lock.holding(path(in: state)) { (_) throws(Failure) in
                // The player may have come back.
                guard try state.watch.read(player) == nil else { return }
                let index = try PlayerIndex(state)
                let count = index.entries.count
                index.entries.removeAll { $0.player == player }
                if index.isChanged || index.entries.count < count { try index.write() }
            }
        } catch {
            guard error.cause == FailureCause.busy else { throw error }
        }
    }
}

// MARK: Due players

extension PlayerIndex {
    /// Claims the players whose slot has come, in the order in which to look at them.
    ///
    /// A player's slots are `interval` apart, whenever within a slot the player was looked at (``Slots``). A
    /// request's look does not count.
    package func claim(at now: Timestamp, interval: Interval) -> [Claim] {
        let slots = slots(at: now, interval)
        var due = Due()
        for place in entries.indices {
            let entry = entries[place]
            guard entry.isWatched, let slot = slots.next(after: entry.slot),
                !entry.isDelayed(at: slots.latest)
            else { continue }
            entries[place].slot = slot
            isChanged = true
            let claim = Claim(
                player: entry.player, place: place, slot: slot, previous: entry.slot,
                hasFailed: entry.failures > 0, isKnown: entry.looked > .never)
            due.add(claim, since: claim.hasFailed ? entry.notBefore : entry.looked)
        }
        return due.inOrder
    }

    private func slots(at now: Timestamp, _ interval: Interval) -> Slots {
        Slots(
            at: now, interval: interval, skew: state.isLocal ? .seconds(0) : State.clockTolerance)
    }

    /// Marks the player as looked at in the claim's slot.
    ///
    /// - Returns: the mark; `nil` if the player is not due after all, because a process that was then killed
    ///   has looked, or because the player no longer has a mark.
    package func begin(
        _ claim: Claim, at now: Timestamp, interval: Interval
    ) throws(Failure) -> WatchMark? {
        let slots = slots(at: now, interval)
        var known: WatchMark?
        let isDue = try state.watch.update(claim.player) { mark in
            known = mark
            guard slots.next(after: mark.slot) != nil, !mark.isDelayed(at: slots.latest) else {
                return false
            }
            mark.slot = claim.slot
            return true
        }
        guard let known else { return nil }
        guard isDue == true else {
            entries[claim.place].take(known)
            return nil
        }
        return known
    }

    /// Takes over what a look has changed in the mark.
    package func end(_ claim: Claim) throws(Failure) {
        guard let mark = try state.watch.read(claim.player) else { return }
        entries[claim.place].take(mark)
    }

    /// Releases a claim of a look that was not made.
    package func release(_ claim: Claim, hasBegun: Bool) throws(Failure) {
        entries[claim.place].slot = claim.previous
        guard hasBegun else { return }
        try state.watch.update(claim.player) { mark in
            if mark.slot == claim.slot { mark.slot = claim.previous }
        }
    }
}

extension PlayerIndex.Entry {
    fileprivate func isDelayed(at now: Timestamp) -> Bool {
        WatchMark.isDelayed(until: notBefore, after: failures, isKnown: looked > .never, at: now)
    }
}

// MARK: Comparing

extension PlayerIndex {
    /// Takes over new and removed marks, and makes the marks that are missing: of players with a device whose
    /// documents are newer than their marks, as in a copy of a live folder.
    ///
    /// If no folder of marks or users has changed, and the push services that can be reached have not, it
    /// reads nothing else.
    ///
    /// - Parameter report: gets each error that keeps a player from being looked at; that player is compared
    ///   again the next time.
    /// - Returns: how many marks were missing.
    package func compare(report: (Failure) -> Void) throws(Failure) -> Int {
        var comparison = try Comparison(of: stamps, in: state)
        guard comparison.isAny else { return 0 }
        isChanged = true
        var places: [PlayerID: Int] = [:]
        for (place, entry) in entries.enumerated() where comparison.contains(entry.shard) {
            places[entry.player] = place
        }
        var gone: Set<PlayerID> = []
        var doubtful: [(player: PlayerID, shard: Int)] = []
        for shard in 0..<FolderStamps.count where comparison.marks.contains(shard) {
            let marked = try names(report, &comparison, shard) { () throws(SystemError) in
                try state.watch.players(in: shard)
            }
            guard let marked else { continue }
            for player in marked {
                if let place = places[player] {
                    guard !entries[place].isWatched || entries[place].failures > 0 else { continue }
                    guard let mark = try state.watch.read(player) else { continue }
                    entries[place].isWatched = true
                    entries[place].take(mark)
                } else if let mark = try state.watch.read(player) {
                    places[player] = entries.count
                    entries.append(Entry(player: player, shard: shard, isWatched: true))
                    entries[entries.count - 1].take(mark)
                }
            }
            let known = Set(marked)
            for (player, place) in places
            where entries[place].shard == shard && entries[place].isWatched {
                guard !known.contains(player) else { continue }
                entries[place].isWatched = false
                doubtful.append((player, shard))
            }
        }
        for shard in 0..<FolderStamps.count where comparison.users.contains(shard) {
            let folder = "\(state.users.folder)/\(WatchMarks.shard(shard))"
            let names = try names(report, &comparison, shard) { () throws(SystemError) in
                try Files.names(in: folder)
            }
            guard let names else { continue }
            var users: Set<PlayerID> = []
            for name in names where name.utf8.suffix(5).elementsEqual(".json".utf8) {
                guard let player = PlayerID(String(decoding: name.utf8.dropLast(5), as: UTF8.self))
                else { continue }
                users.insert(player)
                if let place = places[player] {
                    guard !entries[place].isWatched,
                        try comparison.isNew(state.users[player].changed(), in: shard)
                    else { continue }
                }
                doubtful.append((player, shard))
            }
            for (player, place) in places
            where entries[place].shard == shard && !entries[place].isWatched {
                if !users.contains(player) { gone.insert(player) }
            }
        }
        var count = 0
        var repaired: Set<Int> = []
        for (player, shard) in doubtful {
            do throws(Failure) {
                if try state.registry.repair(player, durably: false) {
                    count += 1
                    repaired.insert(shard)
                }
                if try take(player, shard, &places) {
                    gone.remove(player)
                } else {
                    gone.insert(player)
                }
            } catch {
                comparison.fail(shard)
                report(error)
            }
        }
        // After a loss there may be many.
        for shard in repaired {
            let folder = "\(state.watch.folder)/\(WatchMarks.shard(shard))"
            try systemCalls(Files.synchronizeFolder(folder))
        }
        if !gone.isEmpty { entries.removeAll { !$0.isWatched && gone.contains($0.player) } }
        stamps = comparison.result
        return count
    }

    /// Takes over a player's mark, or that the player has a document and no mark.
    ///
    /// - Returns: whether the player has either.
    private func take(
        _ player: PlayerID, _ shard: Int, _ places: inout [PlayerID: Int]
    ) throws(Failure) -> Bool {
        let mark = try state.watch.read(player)
        if mark == nil, try state.users[player].changed() == nil { return false }
        let place = places[player] ?? entries.count
        if place == entries.count {
            entries.append(Entry(player: player, shard: shard, isWatched: false))
            places[player] = place
        }
        entries[place].isWatched = mark != nil
        if let mark { entries[place].take(mark) }
        return true
    }

    /// The names in a folder; `nil` if that folder alone cannot be listed.
    private func names<Name>(
        _ report: (Failure) -> Void, _ comparison: inout Comparison, _ shard: Int,
        _ list: () throws(SystemError) -> [Name]
    ) throws(Failure) -> [Name]? {
        do throws(SystemError) { return try list() } catch {
            guard error.errno.isFileSpecific else { throw error.failure }
            comparison.fail(shard)
            if error.errno != .notDirectory { report(error.failure) }
            return nil
        }
    }
}

// MARK: The file

extension PlayerIndex {
    /// The first bytes of the file.
    private static let magic = Int64(littleEndian: 0x32_52_59_41_4c_50_53_54)  // "TSPLAYR2"
    /// A cycle reads all of it, so no cycle has made a larger file.
    private static let largest = 1 << 30
    private static let headWords = 2 + FolderStamps.words
    private static let entryWords = 6

    private static func content(_ bytes: [UInt8]) -> ([Entry], FolderStamps)? {
        let words = Words.all(in: bytes)
        guard words.count >= headWords, (words.count - headWords) % entryWords == 0,
            words[0] == magic, words[1] == Words.sum(words[2...])
        else { return nil }
        var entries: [Entry] = []
        entries.reserveCapacity((words.count - headWords) / entryWords)
        for first in stride(from: headWords, to: words.count, by: entryWords) {
            guard let player = PlayerID(number: words[first]) else { return nil }
            entries.append(
                Entry(
                    player: player, shard: Int(words[first + 1] & 0xff),
                    isWatched: words[first + 1] & 0x100 != 0,
                    slot: Timestamp(milliseconds: words[first + 2]),
                    looked: Timestamp(milliseconds: words[first + 3]),
                    notBefore: Timestamp(milliseconds: words[first + 4]),
                    failures: words[first + 5]))
        }
        return (entries, FolderStamps(words[2..<headWords]))
    }

    private var bytes: [UInt8] {
        var words = [Self.magic, 0] + stamps.all
        words.reserveCapacity(Self.headWords + entries.count * Self.entryWords)
        for entry in entries {
            words.append(entry.player.number)
            words.append(Int64(entry.shard) | (entry.isWatched ? 0x100 : 0))
            words.append(entry.slot.milliseconds)
            words.append(entry.looked.milliseconds)
            words.append(entry.notBefore.milliseconds)
            words.append(entry.failures)
        }
        words[1] = Words.sum(words[2...])
        return Words.bytes(of: words)
    }
}

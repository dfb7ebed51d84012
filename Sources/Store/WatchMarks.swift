import Documents
import Turnstone
import Unix

/// The marks of the players whom `check-turns` looks at: one file for each, `watch/<shard>/<player>`.
///
/// A mark is made before the user's document that needs it is committed, and removed, both under the lock of
/// that document. Its content is a cache. It is changed under a lock on the mark itself, in which nothing else
/// is locked.
package struct WatchMarks {
    let folder: String

    /// The 256 folders of marks, as those of users.
    static func shard(_ number: Int) -> String { hex([UInt8(truncatingIfNeeded: number)]) }

    func path(of player: PlayerID) -> String {
        let name = UserID(player).documentName
        return "\(folder)/\(name.shard ?? "00")/\(name.file)"
    }

    /// The player's mark; `nil` if the player is not looked at. Takes no lock.
    package func read(_ player: PlayerID) throws(Failure) -> WatchMark? {
        var patience = Patience()
        while true {
            let file = try file(of: player)
            guard let file else { return nil }
            if let mark = WatchMark(try systemCalls(file.read(upTo: WatchMark.size + 1, at: 0))) {
                return mark
            }
            // It is being written, or damaged.
            guard patience.wait() else { return WatchMark() }
        }
    }

    /// Changes the player's mark.
    ///
    /// - Parameter change: runs once, with the mark locked: nothing else may be locked in it.
    /// - Returns: what `change` returns; `nil` if the player is not looked at.
    @discardableResult
    package func update<Result>(
        _ player: PlayerID, durably: Bool = false, _ change: (inout WatchMark) -> Result
    ) throws(Failure) -> Result? {
        let file = try file(of: player)
        guard let file else { return nil }
        guard try systemCalls(file.lock(patience: .seconds(2))) else {
            throw Failure(
                .later(seconds: 2), "unable to lock \(path(of: player)): busy for 2 s",
                cause: FailureCause.busy)
        }
        defer { file.unlock() }
        let bytes = try systemCalls(file.read(upTo: WatchMark.size + 1, at: 0))
        let known = WatchMark(bytes)
        var mark = known ?? WatchMark()
        let result = change(&mark)
        guard mark != known else { return result }
        try systemCalls { () throws(SystemError) in
            try file.write(mark.bytes, at: 0)
            if bytes.count > WatchMark.size { try file.truncate(to: WatchMark.size) }
            if durably { try file.synchronize() }
        }
        return result
    }

    /// Lets the next cycle look at the player, even if earlier looks have failed. Durable when this returns.
    /// The caller holds the lock of the user's document.
    ///
    /// - Parameter judgingAnew: whether what was judged before does not count: the player had no device, or the
    ///   device's icon may show too few games.
    func renew(_ player: PlayerID, judgingAnew: Bool) throws(Failure) {
        guard let mark = try read(player) else { return try make(player) }
        guard mark.isPutOff || judgingAnew && mark.judged != 0 else { return }
        try update(player, durably: true) {
            $0.forgetFailures()
            if judgingAnew { $0.judged = 0 }
        }
        // So that the looker, which remembers for how long the player was put off, reads the mark again.
        if mark.isPutOff {
            try systemCalls(Files.dateNow(Files.parent(of: path(of: player))))
        }
    }

    /// Makes the mark, if it is missing.
    func make(
        _ player: PlayerID, _ mark: WatchMark? = nil, durably: Bool = true
    ) throws(Failure) {
        let path = path(of: player)
        try systemCalls { () throws(SystemError) in
            let file: FileDescriptor
            do throws(SystemError) { file = try FileDescriptor.open(path, .update) } catch {
                guard error.errno == .noEntry else { throw error }
                try Files.makeFolder(Files.parent(of: path))
                file = try FileDescriptor.open(path, .update)
            }
            if let mark, try file.size() == 0 { try file.write(mark.bytes, at: 0) }
            if durably { try Files.synchronizeFolder(of: path) }
        }
    }

    /// Ends the looks at the player. The caller holds the lock of the user's document, or erases the user.
    ///
    /// - Returns: whether there was a mark.
    @discardableResult
    package func remove(_ player: PlayerID) throws(Failure) -> Bool {
        try systemCalls(Files.erase(path(of: player)))
    }

    /// The players with a mark in one of the folders.
    func players(in shard: Int) throws(SystemError) -> [PlayerID] {
        try Files.names(in: "\(folder)/\(Self.shard(shard))").compactMap { PlayerID($0) }
    }

    /// Whether any player has a mark.
    func isAny() throws(SystemError) -> Bool {
        for shard in try Files.names(in: folder) {
            let list = FolderList("\(folder)/\(shard)")
            do throws(SystemError) { if try list.next() != nil { return true } } catch {
                guard error.errno.isFileSpecific else { throw error }
            }
        }
        return false
    }

    /// Opens the mark. Anything else in its place is removed and replaced with an empty mark.
    private func file(of player: PlayerID) throws(Failure) -> FileDescriptor? {
        let path = path(of: player)
        do throws(SystemError) { return try FileDescriptor.open(path, .overwrite) } catch {
            if error.errno == .noEntry || error.errno == .notDirectory { return nil }
            guard error.errno.isFileSpecific, Files.remove(path) || Files.removeAll(path) else {
                throw error.failure
            }
        }
        return try systemCalls(FileDescriptor.open(path, .update))
    }
}

extension State {
    package var watch: WatchMarks { WatchMarks(folder: "\(folder)/watch") }

    /// Lets a player's games be judged again even if no look finds anything new.
    package func forgetJudgement(of player: PlayerID) throws(Failure) {
        try watch.update(player) { $0.judged = 0 }
    }

    /// Ends the looks at a player who has no device any more.
    package func unwatch(_ player: PlayerID) throws(Failure) {
        try users[player].holding { (document, _) throws(Failure) in
            guard !document.isWatched(with: services) else { return }
            try watch.remove(player)
        }
    }
}

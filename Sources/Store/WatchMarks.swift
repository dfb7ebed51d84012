import Documents
import Turnstone
import Unix

/// The marks of the players whom `check-turns` looks at: an empty file `watch/<shard>/<player>` for each.
///
/// A mark is durable before the commit of the user's document that needs it, and is made, renewed and removed
/// under that document's lock. So a player with a device is never without one, whatever host registers the
/// player, and a registration changes no other player's bytes.
package struct WatchMarks {
    let folder: String

    /// Where the marks are of the players whose SHA-256 begins with this byte.
    func shard(_ number: Int) -> String { "\(folder)/\(hex([UInt8(number)]))" }

    private func path(of player: PlayerID) -> String {
        let name = player.documentName
        return "\(folder)/\(name.shard ?? "00")/\(name.file)"
    }

    private var requests: String { "\(folder)/again" }

    /// The shard of a player, 0 to 255.
    static func shard(of player: PlayerID) -> Int {
        Int(player.documentName.shard ?? "0", radix: 16) ?? 0
    }

    package func contains(_ player: PlayerID) throws(Failure) -> Bool {
        try systemCalls(Files.exists(path(of: player)))
    }

    /// Makes sure that the player has a mark, durably.
    ///
    /// - Returns: whether it had none.
    package func add(_ player: PlayerID) throws(Failure) -> Bool {
        guard try !contains(player) else { return false }
        let path = path(of: player)
        try systemCalls { () throws(SystemError) in
            try make(path)
            try Files.synchronizeFolder(of: path)
        }
        return true
    }

    /// Makes marks for many players. The caller makes them durable: ``synchronize(_:)``.
    func addLater(_ player: PlayerID) throws(SystemError) { try make(path(of: player)) }

    /// Makes the marks of a shard durable.
    func synchronize(_ number: Int) throws(SystemError) {
        try Files.synchronizeFolder(shard(number))
    }

    private func make(_ path: String) throws(SystemError) {
        do throws(SystemError) { _ = try FileDescriptor.open(path, .append) } catch {
            guard error.errno == .noEntry else { throw error }
            try Files.makeFolder(Files.parent(of: path))
            _ = try FileDescriptor.open(path, .append)
        }
    }

    /// Removes a player's mark. The caller holds the lock of the user's document.
    ///
    /// - Returns: whether there is none now.
    @discardableResult
    package func remove(_ player: PlayerID) -> Bool {
        Files.remove(path(of: player)) || Errno.current == .noEntry
    }

    /// The players with a mark in a shard. Other names are skipped.
    func players(inShard number: Int) throws(Failure) -> [PlayerID] {
        try systemCalls { () throws(SystemError) in
            let list = FolderList(shard(number))
            var players: [PlayerID] = []
            while let name = try list.next() {
                if let player = PlayerID(name) { players.append(player) }
            }
            return players
        }
    }

    /// Asks the next cycle to forget what it knows of a player: that the looks failed, what they found, and
    /// whether that was judged. The caller holds the lock of the user's document, under which players are
    /// judged. Without a mark there is nothing to forget.
    func askAgain(_ player: PlayerID) throws(Failure) {
        guard try contains(player) else { return }
        try systemCalls(make("\(requests)/\(player.documentName.file)"))
    }

    /// The players of ``askAgain(_:)``.
    func askedAgain() throws(Failure) -> [PlayerID] {
        try systemCalls(Files.names(in: requests)).compactMap { PlayerID($0) }
    }

    func removeRequest(_ player: PlayerID) {
        Files.remove("\(requests)/\(player.documentName.file)")
    }

    /// Whether there is any mark, and when one of the oldest was made, by the file system's clock in
    /// milliseconds since 1970. Looks at one mark of each shard.
    func oldest() throws(Failure) -> Int64? {
        try systemCalls { () throws(SystemError) in
            var oldest: Int64?
            for number in 0..<256 {
                let list = FolderList(shard(number))
                while let name = try list.next() {
                    guard PlayerID(name) != nil,
                        let stamp = try Files.stamp(of: "\(shard(number))/\(name)")
                    else { continue }
                    oldest = min(oldest ?? .max, stamp.milliseconds)
                    break
                }
            }
            return oldest
        }
    }
}

extension State {
    package var marks: WatchMarks { WatchMarks(folder: "\(folder)/watch") }

    /// Lets a player's games be judged again even if no look finds anything new. The caller holds the lock of
    /// the user's document.
    package func forgetJudgement(of player: PlayerID) throws(Failure) {
        try marks.askAgain(player)
    }
}

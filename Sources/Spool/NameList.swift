import Crypto
import Turnstone
import Unix

/// The file names of a lane, taken from 256 groups in turn. All messages to one user have names of the same
/// group (``newID(for:)``), so other users' messages are found early, however many that user has: a folder is
/// first read with a limit on the names of a group, and then, if that left any out, once more without it.
final class NameList {
    private let folder: String
    private var list: FolderList
    private var groups: [[String]] = Array(repeating: [], count: 256)
    private var group = 0
    private var count = 0
    private var isAtEnd = false
    /// Whether this reading of the folder leaves out names of groups that have many.
    private var isLimited = true
    private var hasLeftOut = false

    /// The most names in memory.
    private static let most = 32_768
    /// The most names of one group in memory while others are looked for.
    private static let mostOfGroup = 2048
    /// The most names that are read at once: some 50 ms.
    private static let mostRead = 1 << 18

    init(_ folder: String) {
        self.folder = folder
        list = FolderList(folder)
    }

    /// Returns the next name; `nil` at the end, after which it starts again, and if the folder is missing.
    /// Names that are added or removed meanwhile may or may not appear, and one may appear twice.
    func next() throws(SystemError) -> String? {
        while count == 0, !isAtEnd { try fill() }
        guard count > 0 else {
            isAtEnd = false
            isLimited = true
            return nil
        }
        repeat { group = (group + 1) % groups.count } while groups[group].isEmpty
        count -= 1
        return groups[group].removeLast()
    }

    private func fill() throws(SystemError) {
        var read = 0
        while count < Self.most, read < Self.mostRead {
            guard let name = try list.next() else {
                isAtEnd = !hasLeftOut
                isLimited = false
                hasLeftOut = false
                return
            }
            read += 1
            let group = groupOfFile(name)
            if isLimited, groups[group].count >= Self.mostOfGroup {
                hasLeftOut = true
                continue
            }
            groups[group].append(name)
            count += 1
        }
    }

    /// Starts again with a new listing.
    func restart() {
        list = FolderList(folder)
        for group in groups.indices { groups[group].removeAll(keepingCapacity: true) }
        count = 0
        isAtEnd = false
        isLimited = true
        hasLeftOut = false
    }

    /// See ``FolderList/removeIfOversized()``.
    func removeIfOversized() { list.removeIfOversized() }
}

/// Makes a random id for a new notification.
///
/// - Parameter user: the only user whom it is for, if there is one. The ids of all of a user's notifications
///   end with the same two digits.
package func newID(for user: UserID?) throws(Failure) -> String {
    let id = stableUUID("notification \(hex(try randomBytes(16)))")
    guard let user else { return id }
    let digits = hex(SHA256.hash(Array(user.text.utf8)).prefix(1))
    return String(decoding: Array(id.utf8.dropLast(2)), as: UTF8.self) + digits
}

/// The id of a player's turn notice by its number: a program that was interrupted finds it again.
package func turnNoticeID(_ player: PlayerID, _ notice: Int64) -> String {
    stableUUID("turns/\(player)/\(notice)")
}

/// The group of a file name: the value of the last two digits of its id.
private func groupOfFile(_ name: String) -> Int {
    let digits = String(decoding: name.utf8.dropFirst(34).prefix(2), as: UTF8.self)
    return Int(UInt8(digits, radix: 16) ?? 0)
}

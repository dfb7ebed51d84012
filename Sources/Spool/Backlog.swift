import Turnstone
import Unix

/// The users to whom older notifications are in the backlog, or were taken from there and are in hand: by the
/// groups of their names (``newID(for:)``). Notifications whose ids are of no group may overtake each other.
struct Backlog {
    private let folder: String
    private var groups: [Lane: Set<Int>] = [:]
    /// What an earlier drainer has left there: names by group.
    private var left: [Int: [String]] = [:]
    /// Whether one was moved there since its folder was last read to the end.
    private var hasGrown = true

    /// The most names that are read of what is left.
    private static let most = 32_768

    init(_ spool: Spool) {
        folder = spool.ready(.backlog)
        let list = FolderList(folder)
        do throws(SystemError) {
            for _ in 0..<Self.most {
                guard let name = try list.next() else { break }
                left[groupOfFile(name), default: []].append(name)
            }
        } catch {}  // what cannot be listed is not sent, either
    }

    /// Whether a user's older notification of the same lane is there.
    mutating func isBehind(_ file: SpoolFile) -> Bool {
        guard file.notification.isGrouped else { return false }
        let group = groupOfFile(file.notification.id)
        if groups[file.lane]?.contains(group) == true { return true }
        guard let names = left.removeValue(forKey: group) else { return false }
        for name in names {
            do throws(Failure) {
                if let old = try SpoolFile.open("\(folder)/\(name)") { insert(old) }
            } catch {}  // whoever takes it sees to its damage
        }
        return groups[file.lane]?.contains(group) == true
    }

    mutating func add(_ file: SpoolFile) {
        insert(file)
        hasGrown = true
    }

    private mutating func insert(_ file: SpoolFile) {
        guard file.notification.isGrouped else { return }
        groups[file.lane, default: []].insert(groupOfFile(file.notification.id))
    }

    /// Its folder was read to the end. Names that were added meanwhile may not have appeared.
    ///
    /// - Parameter held: the notifications in hand.
    mutating func didEnd(_ held: some Collection<SpoolFile>) {
        defer { hasGrown = false }
        guard !hasGrown, !groups.isEmpty || !left.isEmpty else { return }
        (groups, left) = ([:], [:])
        for file in held where Files.parent(of: file.path) == folder { insert(file) }
    }
}

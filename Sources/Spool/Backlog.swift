import Turnstone
import Unix

/// Users with notifications in the backlog, or in hand from it, by the groups of their names
/// (``newID(for:)``). Notifications whose ids are of no group may overtake each other.
struct Backlog {
    private let folder: String
    /// By lane and group, how many are known to be there. One that another program has removed counts until
    /// ``didEnd(_:)``.
    private var counts: [Lane: [Int: Int]] = [:]
    /// What an earlier drainer has left there and whose lane is not known yet: names by group.
    private var left: [Int: Set<String>] = [:]
    /// Whether one was moved there since its folder was last read to the end.
    private var hasGrown = true

    /// The most names that are read of what is left, and the most files of these that are opened at once.
    private static let most = 32_768
    private static let mostOpened = 2000

    init(_ spool: Spool) {
        folder = spool.ready(.backlog)
        let list = FolderList(folder)
        do throws(SystemError) {
            for _ in 0..<Self.most {
                guard let name = try list.next() else { break }
                left[groupOfFile(name), default: []].insert(name)
            }
        } catch {}  // what cannot be listed is not sent, either
    }

    /// Whether it has an older notification to the same user, of the same lane. It also says so if an earlier
    /// drainer has left more than 2000 of another lane: to open so many takes some 50 ms.
    mutating func hasOlder(than file: SpoolFile) -> Bool {
        guard file.notification.isGrouped else { return false }
        let group = groupOfFile(file.notification.id)
        for _ in 0..<Self.mostOpened {
            if isKnown(group, in: file.lane) { return true }
            guard let name = left[group]?.popFirst() else { return false }
            do throws(Failure) {
                if let old = try SpoolFile.open("\(folder)/\(name)") { count(old) }
            } catch {}  // whoever takes it sees to its damage
        }
        return isKnown(group, in: file.lane) || left[group]?.isEmpty == false
    }

    private func isKnown(_ group: Int, in lane: Lane) -> Bool { counts[lane]?[group] != nil }

    /// Records that a notification was moved there.
    mutating func add(_ file: SpoolFile) {
        hasGrown = true
        count(file)
    }

    private mutating func count(_ file: SpoolFile) {
        guard file.notification.isGrouped else { return }
        counts[file.lane, default: [:]][groupOfFile(file.notification.id), default: 0] += 1
    }

    /// Records that a notification in hand has left the place where it was taken, if that was there.
    mutating func remove(_ file: SpoolFile) {
        guard file.notification.isGrouped, Files.parent(of: file.path) == folder else { return }
        let group = groupOfFile(file.notification.id)
        if left[group]?.remove(Files.name(of: file.path)) != nil { return }
        guard let count = counts[file.lane]?[group] else { return }
        counts[file.lane]?[group] = count > 1 ? count - 1 : nil
    }

    /// Its folder was read to the end. Names that were added meanwhile may not have appeared.
    ///
    /// - Parameter held: the notifications in hand.
    mutating func didEnd(_ held: some Collection<SpoolFile>) {
        defer { hasGrown = false }
        guard !hasGrown, !counts.isEmpty || !left.isEmpty else { return }
        (counts, left) = ([:], [:])
        for file in held where Files.parent(of: file.path) == folder { count(file) }
    }
}

import Turnstone
import Unix

/// For which users the backlog may have notifications, or its notifications in hand may be, by the groups of
/// their names (``newID(for:)``).
struct Backlog {
    private let folder: String
    /// By lane. Those that an earlier drainer has left there count as normal ones: urgent ones do not wait behind
    /// them.
    private var groups: [Lane: Set<Int>] = [:]
    /// Whether one was moved there since its folder was last read to the end.
    private var hasGrown = true

    init(_ spool: Spool) {
        folder = spool.ready(.backlog)
        do throws(SystemError) {
            for name in try Files.names(in: folder) {
                groups[.normal, default: []].insert(groupOfFile(name))
            }
        } catch {}  // what cannot be listed is not sent, either
    }

    func mayHold(before file: SpoolFile) -> Bool {
        groups[file.lane]?.contains(groupOfFile(file.notification.id)) ?? false
    }

    mutating func add(_ file: SpoolFile) {
        insert(file)
        hasGrown = true
    }

    private mutating func insert(_ file: SpoolFile) {
        groups[file.lane, default: []].insert(groupOfFile(file.notification.id))
    }

    /// Its folder was read to the end. Names that were added meanwhile may not have appeared.
    ///
    /// - Parameter held: the notifications in hand.
    mutating func didEnd(_ held: some Collection<SpoolFile>) {
        defer { hasGrown = false }
        guard !hasGrown, !groups.isEmpty else { return }
        groups = [:]
        for file in held where Files.parent(of: file.path) == folder {
            insert(file)
        }
    }
}

import Audiences
import JSON
import Store
import Turnstone

/// The users who may get a message: a list, or all whom the audience index shows.
enum UserSource {
    case listed(ArraySlice<UserID>)
    case indexed(Candidates)

    /// A user whose document says what is known, or one of whom the index knows enough.
    enum Found {
        case listed(UserID)
        case indexed(IndexedUser, [Device])
    }

    init(
        _ audience: ResolvedAudience, _ users: [UserID], in state: State
    ) throws(Failure) {
        self =
            audience.isOpen
            ? .indexed(try Candidates(audience.selection, state)) : .listed(users[...])
    }

    mutating func next() throws(Failure) -> Found? {
        switch self {
        case .listed(var users):
            let user = users.popFirst()
            self = .listed(users)
            return user.map { .listed($0) }
        case .indexed(let candidates): return try candidates.next()
        }
    }
}

/// The users of the audience index who may match a selection.
final class Candidates {
    private var reader: AudienceIndex.Reader
    private var shard: IndexShard?
    private var entries: ArraySlice<IndexShard.Entry> = []
    /// Of these, the documents say what is known, and not the index.
    private var unread: Set<UserID>
    /// Texts that a line must contain: all of one list. `nil` if any line may match.
    private let needles: [[[UInt8]]]?

    init(_ selection: Selection, _ state: State) throws(Failure) {
        reader = try state.audience.reader()
        unread = Set(reader.unread)
        needles = selection.included.map { filters in
            filters.flatMap { $0.necessaryTags }.map { tags in
                tags.map { tag in
                    JSON.text(.string(tag.name)) + [UInt8(ascii: ":")]
                        + (tag.text.map { JSON.text(.string($0)) } ?? [])
                }
            }
        }
    }

    /// The next user; `nil` at the end. Some do not match.
    func next() throws(Failure) -> UserSource.Found? {
        while true {
            guard let shard, let entry = entries.popFirst() else {
                guard let next = try reader.next() else {
                    return unread.popFirst().map { .listed($0) }
                }
                shard = next
                entries = next.entries()[...]
                continue
            }
            if !unread.isEmpty, let user = shard.name(of: entry.newest), unread.contains(user) {
                continue
            }
            guard entry.lines.contains(where: { mayMatch($0, in: shard) }) else { continue }
            // Otherwise it is not known which line is true, or the line may be damaged.
            guard entry.isCertain, let known = shard.user(of: entry.newest),
                let devices = known.devices
            else {
                guard let user = shard.name(of: entry.newest) else { throw reader.damaged() }
                return .listed(user)
            }
            if !devices.isEmpty { return .indexed(known, devices) }
        }
    }

    private func mayMatch(_ line: Range<Int>, in shard: IndexShard) -> Bool {
        guard let needles else { return true }
        return needles.contains { $0.allSatisfy { shard.contains($0, in: line) } }
    }
}

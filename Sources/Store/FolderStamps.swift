import Documents
import Turnstone
import Unix

/// The stamps of the folders of `watch/` and `users/` when the player index was last compared with them. They
/// show which folders have changed since.
struct FolderStamps: Equatable {
    /// Folders in each of the two.
    static let count = 256

    /// The stamps of the folders of marks and of users: 0 for a folder that is missing, -1 for one that has to be
    /// read again.
    var marks = [Int64](repeating: -1, count: count)
    var users = [Int64](repeating: -1, count: count)
    /// When a folder of users had last changed at that time, in milliseconds since 1970.
    var usersChanged = [Int64](repeating: 0, count: count)
    /// The push services that could be reached then: ``PushServiceSet/bits``. -1 before the first comparison.
    var services: Int64 = -1

    static let words = 3 * count + 1

    init() {}

    init(_ words: ArraySlice<Int64>) {
        let first = words.startIndex
        marks = Array(words[first..<first + Self.count])
        users = Array(words[first + Self.count..<first + 2 * Self.count])
        usersChanged = Array(words[first + 2 * Self.count..<first + 3 * Self.count])
        services = words[first + 3 * Self.count]
    }

    var all: [Int64] { marks + users + usersChanged + [services] }
}

/// Which folders have to be read, because they have changed since the last comparison.
struct Comparison {
    private let known: FolderStamps
    private let hasSameServices: Bool
    private(set) var marks: Set<Int> = []
    private(set) var users: Set<Int> = []
    /// The stamps to remember.
    private(set) var result = FolderStamps()

    init(of known: FolderStamps, in state: State) throws(Failure) {
        self.known = known
        hasSameServices = known.services == state.services.bits
        result.services = state.services.bits
        // A folder may change again within the same tick of its clock, and other machines' clocks may differ.
        let pause = Interval.seconds(state.isLocal ? 1 : 61)
        let settled = Timestamp.systemNow - pause
        for shard in 0..<FolderStamps.count {
            let name = WatchMarks.shard(shard)
            if let stamp = try Self.stamp("\(state.watch.folder)/\(name)") {
                let sum = stamp?.sum ?? 0
                if sum != known.marks[shard] { marks.insert(shard) }
                if stamp?.changed ?? .never < settled { result.marks[shard] = sum }
            }
            if let stamp = try Self.stamp("\(state.users.folder)/\(name)") {
                let sum = stamp?.sum ?? 0
                if sum != known.users[shard] || stamp != nil && !hasSameServices {
                    users.insert(shard)
                }
                let changed = stamp?.changed ?? .never
                guard changed < settled else { continue }
                result.users[shard] = sum
                result.usersChanged[shard] = changed.milliseconds
            }
        }
    }

    /// - Returns: `nil` for a folder that cannot be examined, which counts as unchanged: `health` reports it.
    private static func stamp(_ path: String) throws(Failure) -> Files.Stamp?? {
        do throws(SystemError) { return .some(try Files.stamp(of: path)) } catch {
            guard error.errno.isFileSpecific else { throw error.failure }
            return nil
        }
    }

    /// Whether anything has to be compared.
    var isAny: Bool { !marks.isEmpty || !users.isEmpty || !hasSameServices }

    func contains(_ shard: Int) -> Bool { marks.contains(shard) || users.contains(shard) }

    /// Whether a document was written since the last comparison. Its time may be earlier than its folder's by as
    /// long as the disk took. Another push service may reach devices that could not be reached before.
    func isNew(_ changed: Timestamp?, in shard: Int) -> Bool {
        guard hasSameServices, let changed, known.usersChanged[shard] > 0 else { return true }
        return changed > Timestamp(milliseconds: known.usersChanged[shard]) - .minutes(1)
    }

    /// Lets a folder be compared again the next time.
    mutating func fail(_ shard: Int) {
        result.marks[shard] = -1
        result.users[shard] = -1
    }
}

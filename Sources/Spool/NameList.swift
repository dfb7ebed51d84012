import Crypto
import Turnstone
import Unix

/// The file names of a lane, taken from groups in turn. All messages to one user have names of the same group
/// (``newID(for:)``), so other users' messages are found early, however many that user has: a folder is first
/// read with a limit on the names of a group, and then, if that left any out, once more without it. If there are few
/// names, they are one group, so that each of several users gets messages in their order, too.
final class NameList {
    private let folder: String
    private var list: FolderList
    /// The files of each group that has any. In a group that has had its turn, the oldest one is last.
    private var groups: [Int: [File]] = [:]
    /// The groups with several names that are not in the order of their files.
    private var unordered: Set<Int> = []
    /// Those groups, and the place of the next one.
    private var turns: [Int] = []
    private var turn = 0
    private var count = 0
    private var isAtEnd = false
    /// Whether this reading of the folder leaves out names of groups that have many.
    private var isLimited = true
    /// The groups of which this reading leaves out names.
    private var cut: Set<Int> = []
    /// Whether no name of this listing has been read yet.
    private var isAtStart = true
    /// Whether the last reading came to the folder's end, and the groups of which it left out names.
    private var isComplete = false
    private var leftOut: Set<Int> = []
    /// Whether all names are one group.
    private var isMerged = false

    /// The most names of several groups that are taken in the order of their files.
    private static let mostOrdered = 256
    /// The most names in memory.
    private static let most = 32_768
    /// The most names of one group in memory while others are looked for, those of the oldest files.
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
        if turn >= turns.count { turn = 0 }
        if count > 0 { findOldest(of: turns[turn]) }
        guard count > 0, let name = groups[turns[turn]]?.popLast()?.name else {
            isAtEnd = false
            isAtStart = true
            isLimited = true
            return nil
        }
        count -= 1
        if groups[turns[turn]]?.isEmpty == false {
            turn += 1
        } else {
            groups[turns[turn]] = nil
            // The last one has its turn here.
            turns.swapAt(turn, turns.count - 1)
            turns.removeLast()
        }
        return name
    }

    private func fill() throws(SystemError) {
        var read = 0
        let isWhole = isAtStart
        isAtStart = false
        isComplete = false
        isMerged = false
        while count < Self.most, read < Self.mostRead {
            guard let name = try list.next() else {
                if isWhole, cut.isEmpty, count <= Self.mostOrdered { mergeGroups() }
                for group in cut { keepOldest(of: group) }
                isAtEnd = cut.isEmpty
                isLimited = false
                isComplete = true
                leftOut = cut
                cut = []
                return
            }
            read += 1
            let group = groupOfFile(name)
            let known = groups[group]?.count ?? 0
            if known == 0 { turns.append(group) } else { unordered.insert(group) }
            groups[group, default: []].append(File(name: name))
            count += 1
            if isLimited, known + 1 >= 2 * Self.mostOfGroup { keepOldest(of: group) }
        }
    }

    /// Drops all but a group's oldest files.
    private func keepOldest(of group: Int) {
        let files = sorted(group)
        let surplus = files.count - Self.mostOfGroup
        guard surplus > 0 else { return }
        var start = surplus
        // Which of those that are as old goes first is not known yet.
        while start > 0, files[start - 1].written == files[start].written { start -= 1 }
        if start == 0 { start = surplus }
        groups[group] = Array(files[start...])
        count -= start
        cut.insert(group)
    }

    /// Makes one group of all names.
    private func mergeGroups() {
        guard turns.count > 1 else { return }
        groups = [0: groups.values.flatMap { $0 }]
        (turns, turn, unordered) = ([0], 0, [0])
        isMerged = true
    }

    /// Adds the name of a file that was moved to the folder since that was read. Otherwise it would wait for the
    /// next reading, behind all names that are in memory.
    ///
    /// - Parameter isFirst: whether its user has no older one there.
    func add(_ name: String, isFirst: Bool) {
        // Otherwise the next reading finds it.
        guard !isAtStart else { return }
        let group = isMerged ? 0 : groupOfFile(name)
        // It must not overtake its user's older files, which may be those that are not in memory.
        guard isFirst || isComplete && count > 0 && !leftOut.contains(group) else { return }
        // Users who have none in memory get their turn all the same.
        let most = isFirst ? 2 * Self.most : Self.most
        guard count < (isMerged ? Self.mostOrdered : most) else {
            // Nor may what comes after it.
            leftOut.insert(group)
            return
        }
        let file = File(name: name, written: Moment(ofFile: "\(folder)/\(name)"))
        count += 1
        let place = place(of: file, among: groups[group] ?? [])
        if groups[group] == nil { turns.append(group) }
        // The time of a group's only file may not be known.
        if groups[group]?.count == 1 { unordered.insert(group) }
        groups[group, default: []].insert(file, at: place)
    }

    /// Files that are as old have their turn before it. Any place will do if they are in no order yet.
    private func place(of file: File, among others: [File]) -> Int {
        others.firstIndex { !$0.isYounger(than: file) } ?? others.count
    }

    /// Makes the last of a group's files the one whose notification was accepted first, so that a user gets
    /// messages in that order.
    private func findOldest(of group: Int) {
        if unordered.remove(group) != nil { groups[group] = sorted(group) }
        let equals = oldestWithoutPlace(in: groups[group] ?? [])
        guard equals.count > 1 else { return }
        groups[group]?.removeLast(equals.count)
        let numbered = equals.map { (file: $0, number: acceptance(of: $0.name)) }
        for (file, _) in numbered.sorted(by: { $0.number > $1.number }) {
            groups[group]?.append(File(name: file.name, written: file.written, isPlaced: true))
        }
    }

    /// The files at the end that were written at the same moment: a file's time counts in steps of some
    /// milliseconds. Empty if they have their places.
    private func oldestWithoutPlace(in files: [File]) -> [File] {
        guard let oldest = files.last, !oldest.isPlaced else { return [] }
        return Array(files.reversed().prefix { $0.written == oldest.written })
    }

    /// A group's files, the oldest last.
    private func sorted(_ group: Int) -> [File] {
        var files = groups[group] ?? []
        for place in files.indices where files[place].written == nil {
            files[place].written = Moment(ofFile: "\(folder)/\(files[place].name)")
        }
        return files.sorted { $0.isYounger(than: $1) }
    }

    private struct File {
        let name: String
        /// `nil` if that was not looked up yet.
        var written: Moment?
        /// Whether it has its place among those that were written at the same moment.
        var isPlaced = false

        func isYounger(than other: File) -> Bool {
            let (own, other) = (written ?? .never, other.written ?? .never)
            return (own.seconds, own.nanoseconds) > (other.seconds, other.nanoseconds)
        }
    }

    private struct Moment: Equatable {
        /// Of a file that is gone, or cannot be looked at.
        static let never = Moment(seconds: .max, nanoseconds: .max)

        let seconds: Int64
        let nanoseconds: Int64

        private init(seconds: Int64, nanoseconds: Int64) {
            self.seconds = seconds
            self.nanoseconds = nanoseconds
        }

        /// When a file was written.
        init(ofFile path: String) {
            var stamp: Files.Stamp?
            do throws(SystemError) { stamp = try Files.stamp(of: path) } catch {}
            self = stamp.map { Moment(seconds: $0.seconds, nanoseconds: $0.nanoseconds) } ?? .never
        }
    }

    /// A message's place in the order of acceptance. Other notifications have none, and go first.
    private func acceptance(of name: String) -> Int64 {
        do throws(Failure) {
            return try SpoolFile.open("\(folder)/\(name)")?.notification.order ?? 0
        } catch { return 0 }  // whoever takes it sees to its damage
    }

    /// Starts again with a new listing.
    func restart() {
        list = FolderList(folder)
        groups.removeAll(keepingCapacity: true)
        turns.removeAll(keepingCapacity: true)
        unordered = []
        count = 0
        isAtEnd = false
        isAtStart = true
        isLimited = true
        cut = []
    }

    /// See ``FolderList/removeIfOversized()``.
    func removeIfOversized() { list.removeIfOversized() }
}

/// Makes a random id for a new notification.
///
/// - Parameter user: the only user whom it is for, if there is one. The ids of all of a user's notifications
///   end with the same four digits.
package func newID(for user: UserID?) throws(Failure) -> String {
    let id = stableUUID("notification \(hex(try randomBytes(16)))")
    guard let user else { return id }
    return String(decoding: Array(id.utf8.dropLast(4)), as: UTF8.self) + lastDigits(of: user)
}

private func lastDigits(of user: UserID) -> String { hex(SHA256.hash(user.text).prefix(2)) }

extension Notification {
    /// Whether it is to one user and has an id of ``newID(for:)``. Those of repeatable requests are of no group.
    var isGrouped: Bool {
        guard let user else { return false }
        return id.utf8.suffix(4).elementsEqual(lastDigits(of: user).utf8)
    }
}

/// The group of a file name: the value of the last four digits of its id. With fewer digits, one of 256 users
/// would wait behind another one's messages.
func groupOfFile(_ name: String) -> Int {
    let digits = String(decoding: name.utf8.dropFirst(32).prefix(4), as: UTF8.self)
    return Int(UInt16(digits, radix: 16) ?? 0)
}

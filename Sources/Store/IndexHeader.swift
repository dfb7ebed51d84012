import Documents
import Turnstone
import Unix

/// The beginning of `watch/index`: what was compared with the marks, and when.
struct IndexHeader {
    /// In bytes: 64 records.
    static let size = 64 * PlayerRecords.size

    /// The bytes `TSWATCH1`.
    private static let magic = Int64(littleEndian: 0x31_48_43_54_41_57_53_54)

    /// The state of a shard's folders when they were last compared with the records.
    struct Shard: Equatable {
        fileprivate(set) var marks: Int64 = 0
        fileprivate(set) var users: Int64 = 0
        /// When they had last changed then, in milliseconds since 1970 by the file system's clock.
        fileprivate(set) var usersChanged: Int64 = 0
        private(set) var marksChanged: Int64 = 0

        fileprivate init() {}

        init(marks: Files.Stamp?, users: Files.Stamp?) {
            self.marks = marks?.sum ?? 0
            self.users = users?.sum ?? 0
            usersChanged = users?.milliseconds ?? 0
            marksChanged = marks?.milliseconds ?? 0
        }

        static func == (left: Shard, right: Shard) -> Bool {
            left.marks == right.marks && left.users == right.users
        }
    }

    /// ``PlayerRecords/sum`` when the records were last written.
    var sum: Int64 = 0
    /// The push services that could be reached: ``PushServiceSet/bits``.
    var services: Int64 = 0
    /// When all shards were last compared, by the file system's clock.
    var checked: Int64 = 0
    var shards = [Shard](repeating: Shard(), count: 256)

    init() {}

    /// - Returns: `nil` if this is no index.
    init?(_ file: FileDescriptor) throws(SystemError) {
        let table = try WordTable(blockSize: Self.size, reading: file, at: 0, blocks: 1)
        guard table.count > 0, table[0, 0] == Self.magic else { return nil }
        sum = table[0, 1]
        services = table[0, 2]
        checked = table[0, 3]
        for shard in 0..<256 {
            let place = 16 + shard * 3
            shards[shard].marks = table[0, place]
            shards[shard].users = table[0, place + 1]
            shards[shard].usersChanged = table[0, place + 2]
        }
    }

    var bytes: [UInt8] {
        var words = [Self.magic, sum, services, checked]
        words += [Int64](repeating: 0, count: 12)
        for shard in shards { words += [shard.marks, shard.users, shard.usersChanged] }
        words += [Int64](repeating: 0, count: Self.size / 8 - words.count)
        return words.withUnsafeBytes { Array($0) }
    }
}

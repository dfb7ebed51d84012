import Turnstone
import Unix

/// The committed revisions of the documents that share a lock file, as `../Store/FORMAT.md` describes the file.
/// A line is 16 bytes, a key and a revision, and never moves. Only the holder of the lock changes any.
struct RevisionTable {
    private let file: FileDescriptor

    init(in file: FileDescriptor) {
        self.file = file
    }

    /// What a search for a key has found.
    private struct Found {
        /// `nil` if there is no line.
        var revision: Int64?
        /// Where the line is; if there is none, where one may be made, or `nil` if there is no room.
        var place: Int?
        /// Whether the lines are this file's own, and no copy's.
        var isOwn = true
    }

    private static let lineSize = 16
    private static let pageSize = 512
    /// The pages of the first level. Each level has four times as many as the one before.
    private static let pages = 8
    private static let levels = 8
    private static let mark: Int64 = 0x3153_4b43_4f4c_5354  // TSLOCKS1

    /// The revision in the line of a key; `nil` if there is no line.
    func revision(of key: UInt64) throws(SystemError) -> Int64? { try search(for: key).revision }

    /// Stores a revision. If the file has no room for it, nothing is stored.
    ///
    /// - Parameter jumping: called before that if the line does not have the revision before this one.
    func store(
        _ revision: Int64, of key: UInt64, jumping: () -> Void = {}
    ) throws(SystemError) {
        let found = try search(for: key)
        if found.revision != revision - 1 { jumping() }
        if !found.isOwn {
            // The lines of a copy tell nothing.
            try file.truncate(to: 0)
            let own = try file.identity()
            try file.write(Words.bytes(of: [Self.mark, own.inode, own.birth, 0]), at: 0)
        }
        guard let place = found.place else { return }
        try file.write(Words.bytes(of: [Int64(bitPattern: key), revision]), at: place)
    }

    /// Removes the lines of a key, durably.
    func remove(_ key: UInt64) throws(SystemError) {
        // There may be a second one if a machine has seen an old state of the file.
        while true {
            let found = try search(for: key)
            guard found.revision != nil, let place = found.place else { break }
            try file.write([UInt8](repeating: 0, count: Self.lineSize), at: place)
        }
        // Also if there was no line: a program may have removed it and been killed before this.
        try file.synchronizeData()
    }

    /// Looks for a line in the one page of each level where it may be.
    private func search(for key: UInt64) throws(SystemError) -> Found {
        var found = Found()
        var pages = Self.pages
        var start = 0
        for level in 0..<Self.levels {
            let page = Int(key % UInt64(pages)) * Self.pageSize
            let bytes: [UInt8]
            // The first level is read as a whole, because the file's beginning is needed too.
            if level == 0 {
                bytes = try file.read(upTo: pages * Self.pageSize, at: 0)
                found.isOwn = try isOwn(bytes)
                guard found.isOwn else {
                    found.place = max(page, 2 * Self.lineSize)
                    return found
                }
            } else {
                bytes = try file.read(upTo: Self.pageSize, at: start + page)
            }
            let first = level == 0 ? page : 0
            // The file's beginning is no line.
            let skipped = level == 0 && page == 0 ? 2 * Self.lineSize : 0
            let line = Self.line(
                of: key, in: bytes, from: first + skipped, to: first + Self.pageSize)
            if let revision = line.revision {
                return Found(revision: revision, place: start + page - first + line.place!)
            }
            if found.place == nil, let place = line.place {
                found.place = start + page - first + place
            }
            let isLast = bytes.count < (level == 0 ? pages * Self.pageSize : Self.pageSize)
            // The next level begins after the end of this one.
            start += pages * Self.pageSize
            pages *= 4
            if isLast {
                // The page may be full though the first level is not.
                found.place = found.place ?? start + Int(key % UInt64(pages)) * Self.pageSize
                return found
            }
        }
        return found
    }

    /// The line of a key in a page, or the place of the first free line. Beyond the end of `bytes` all are free.
    private static func line(
        of key: UInt64, in bytes: [UInt8], from first: Int, to end: Int
    ) -> (revision: Int64?, place: Int?) {
        bytes.withUnsafeBytes { bytes in
            var free: Int?
            for place in stride(from: first, to: end, by: lineSize) {
                guard place + lineSize <= bytes.count else { return (nil, free ?? place) }
                let found = UInt64(
                    littleEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self))
                if found == key {
                    let revision = Int64(
                        littleEndian: bytes.loadUnaligned(
                            fromByteOffset: place + 8, as: Int64.self))
                    return (max(0, revision), place)
                }
                if found == 0, free == nil { free = place }
            }
            return (nil, free)
        }
    }

    /// Whether the file's beginning names this file.
    private func isOwn(_ bytes: [UInt8]) throws(SystemError) -> Bool {
        guard bytes.count >= 2 * Self.lineSize else { return false }
        let words = Words.all(in: Array(bytes[..<(2 * Self.lineSize)]))
        guard words[0] == Self.mark else { return false }
        return try file.isIdentified(inode: words[1], birth: words[2])
    }
}

extension FileDescriptor {
    /// Whether this is the file that has been identified so.
    func isIdentified(inode: Int64, birth: Int64) throws(SystemError) -> Bool {
        let own = try identity()
        // Not all machines that share a file system may see a file's creation time.
        return inode == own.inode && (birth == own.birth || birth == 0 || own.birth == 0)
    }
}

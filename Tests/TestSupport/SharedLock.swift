import Crypto
import Turnstone
import Unix

/// The lock file that a document shares with others of its shelf.
package enum SharedLock {
    /// The file's name, such as `locks/users/ebc.lock`, for a document's, such as `users/eb/1783478.json`.
    package static func file(of document: String) -> String {
        let parts = document.split(separator: "/").suffix(3)
        let digit = digest(of: document).dropFirst(2).first!
        return "locks/\(parts.first!)/\(parts.dropFirst().first!)\(digit).lock"
    }

    /// The same for a document at an absolute path.
    package static func path(of document: String) -> String {
        let parts = document.split(separator: "/", omittingEmptySubsequences: false)
        return (parts.dropLast(3) + [file(of: document)[...]]).joined(separator: "/")
    }

    /// Opens the file, and makes it if it is missing.
    package static func open(
        of document: String, in folder: TemporaryFolder
    ) throws -> FileDescriptor {
        let path = "\(folder.path)/\(file(of: document))"
        try Files.makeFolder(Files.parent(of: path))
        return try FileDescriptor.open(path, .update)
    }

    /// The document's key in the file.
    package static func key(of document: String) -> Int64 {
        Int64(bitPattern: UInt64(digest(of: document).dropFirst(3).prefix(16), radix: 16)!)
    }

    /// The committed revision that a folder holds for a document.
    package static func revision(of document: String, in folder: TemporaryFolder) -> Int64? {
        let lines = Words.all(in: folder.read(file(of: document)) ?? []).dropFirst(4)
        guard let place = lines.indices.first(where: { isKey($0, lines, document) }) else {
            return nil
        }
        return lines[place + 1]
    }

    /// Lets a folder hold a committed revision for a document.
    package static func remember(
        _ revision: Int64, of document: String, in folder: TemporaryFolder
    ) throws {
        let file = try open(of: document, in: folder)
        let own = try file.identity()
        var words = Words.all(in: try file.readToEnd())
        words += [Int64](repeating: 0, count: max(0, 4 - words.count))
        words.replaceSubrange(0..<4, with: [0x3153_4b43_4f4c_5354, own.inode, own.birth, 0])
        var place = words.indices.first { $0 >= 4 && isKey($0, words[...], document) }
        if place == nil {
            let page = Int(UInt64(bitPattern: key(of: document)) % 8) * 64
            words += [Int64](repeating: 0, count: max(0, page + 64 - words.count))
            place = stride(from: max(4, page), to: page + 64, by: 2).first { words[$0] == 0 }
        }
        words[place!] = key(of: document)
        words[place! + 1] = revision
        try file.write(Words.bytes(of: words), at: 0)
    }

    private static func isKey(
        _ place: Int, _ words: ArraySlice<Int64>, _ document: String
    ) -> Bool {
        place % 2 == 0 && words[place] == key(of: document)
    }

    /// Of `users/` and `looks/` the SHA-256 of the name; elsewhere the name, which is one.
    private static func digest(of document: String) -> String {
        let parts = document.split(separator: "/").suffix(3)
        let name = String(parts.last!.dropLast(5))
        return ["users", "looks"].contains(parts.first!) ? hex(SHA256.hash(name)) : name
    }
}

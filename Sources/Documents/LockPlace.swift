import Crypto
import Turnstone
import Unix

/// Where a document's lock is: in a file of its own, or in one that documents of its shelf share.
package struct LockPlace {
    /// The lock file.
    package let file: String
    /// The document's key in a shared lock file; `nil` if the file is the document's own.
    let key: UInt64?
    /// `NAME.json.lock`: of a document with a shared lock, what version 2 locked, or what an operator has emptied.
    let own: String
    /// Whether version 2 has left `NAME.json.lock`, or may lock it.
    let ownLocks: OwnLocks

    /// The lock of the document at `path`, in a file of its own.
    package init(of path: String) {
        own = "\(path).lock"
        file = own
        key = nil
        ownLocks = .gone
    }

    /// The lock of the document at `path`, in one of the files in `folder`.
    init(of path: String, _ name: LockName, in folder: String, ownLocks: OwnLocks) {
        own = "\(path).lock"
        file = "\(folder)/\(name.file).lock"
        key = name.key
        self.ownLocks = ownLocks
    }

    /// The folder of the lock files that the documents of a shelf share.
    static func folder(ofShelf shelf: String) -> String {
        "\(Files.parent(of: shelf))/locks/\(Files.name(of: shelf))"
    }

    /// The path of the lock file that it shares with other documents; `nil` if the file is its own.
    var sharedFile: String? { key == nil ? nil : file }
}

/// Which of the 4,096 lock files of a shelf is a document's, and the document's key in it.
struct LockName {
    /// Three hex digits.
    let file: String
    /// Never 0.
    let key: UInt64

    /// - Parameters:
    ///   - shard: the document's folder, two hex digits. Sixteen lock files have all documents of a folder.
    ///   - digest: the hex digits of a SHA-256. Another text counts as the text of one.
    init(shard: String, digest: String) {
        var digits = Array(digest.utf8.prefix(19))
        if digits.count < 19 || !digits.allSatisfy({ value($0) != nil }) {
            digits = Array(hex(SHA256.hash(digest)).utf8.prefix(19))
        }
        let isFolder = shard.utf8.count == 2 && shard.utf8.allSatisfy { value($0) != nil }
        let folder = isFolder ? Array(shard.utf8) : Array(digits[..<2])
        file = String(decoding: folder + [digits[2]], as: UTF8.self)
        var key: UInt64 = 0
        for digit in digits[3...] { key = key << 4 | UInt64(value(digit) ?? 0) }
        self.key = max(1, key)
    }
}

/// The value of a lower-case hex digit.
private func value(_ digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    default: nil
    }
}

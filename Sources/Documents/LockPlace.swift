import Crypto
import Turnstone
import Unix

/// Where a document's lock is: in a file of its own, or in one that documents of its shelf share.
package struct LockPlace {
    /// The lock file.
    let file: String
    /// The document's key in a shared lock file; `nil` if the file is the document's own.
    let key: UInt64?
    /// `NAME.json.lock`: of a document with a shared lock, what version 2 locked, or what an operator has emptied.
    let own: String
    /// Until when programs of version 2 may run, which lock `NAME.json.lock`; `nil` if none of these files are
    /// left.
    let ownLocksUntil: Timestamp?

    /// The lock of the document at `path`, in a file of its own.
    package init(of path: String) {
        own = "\(path).lock"
        file = own
        key = nil
        ownLocksUntil = nil
    }

    /// The lock of the document at `path`, in one of the files in `folder`.
    init(of path: String, _ name: LockName, in folder: String, ownLocksUntil: Timestamp?) {
        own = "\(path).lock"
        file = "\(folder)/\(name.file).lock"
        key = name.key
        self.ownLocksUntil = ownLocksUntil
    }

    /// Whether a program of version 2 may be running.
    var isOwnLocked: Bool { ownLocksUntil.map { Timestamp.systemNow < $0 } ?? false }

    /// One order for all programs that hold two locks of a shelf, so that no two wait for each other.
    func precedes(_ other: LockPlace) -> Bool {
        file == other.file ? own < other.own : file < other.file
    }
}

/// Which of the 4,096 lock files of a shelf is a document's, and the document's key in it.
struct LockName {
    /// Three hex digits.
    let file: String
    /// Never 0.
    let key: UInt64

    /// - Parameter digest: the hex digits of a SHA-256. Another text counts as the text of one.
    init(digest: String) {
        var digits = Array(digest.utf8.prefix(19))
        if digits.count < 19 || !digits.allSatisfy({ value($0) != nil }) {
            digits = Array(hex(SHA256.hash(digest)).utf8.prefix(19))
        }
        file = String(decoding: digits[..<3], as: UTF8.self)
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

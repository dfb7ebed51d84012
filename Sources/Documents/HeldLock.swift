import Turnstone
import Unix

/// A lock file that documents share, locked by this thread.
final class HeldLock {
    let path: String
    let file: FileDescriptor
    /// The lock file that the thread locked before this one.
    private let previous: HeldLock?
    /// The keys of the documents for which it is held; 0 if it is held for none in particular.
    private var keys: [UInt64]

    /// The key of no document.
    static let anyKey: UInt64 = 0

    /// Records that this thread has locked a file.
    init(push path: String, _ file: FileDescriptor, for key: UInt64) {
        keys = [key]
        self.path = path
        self.file = file
        previous = LockContext.current.last
        LockContext.current.last = self
    }

    /// The file at `path`, if this thread has locked it.
    static func find(_ path: String) -> HeldLock? {
        var held = LockContext.current.last
        while let one = held {
            if one.path == path { return one }
            held = one.previous
        }
        return nil
    }

    /// Whether it is held for this document.
    func holds(_ key: UInt64) -> Bool { keys.contains(key) }

    /// Holds the file for one more document.
    func retain(for key: UInt64) { keys.append(key) }

    /// Gives up the lock that was taken last, and with the last one the file's.
    func release() {
        keys.removeLast()
        guard keys.isEmpty else { return }
        file.unlock()
        LockContext.current.last = previous
    }
}

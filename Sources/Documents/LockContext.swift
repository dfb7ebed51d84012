import Turnstone
import Unix

/// What a thread holds, and how it waits for locks.
final class LockContext {
    /// The shared lock file that the thread locked last.
    var last: HeldLock?
    /// The longest time that the thread waits for a lock.
    var patience = Interval.seconds(2)
    /// Whether a lock of users' or other documents that is not free within that time is recorded for `health`: a
    /// process that is frozen or stuck may hold it for ever.
    var isRecording = true

    /// The thread's own, which lives as long as the process.
    static var current: LockContext {
        if let known = ThreadSlot.value {
            return Unmanaged<LockContext>.fromOpaque(known).takeUnretainedValue()
        }
        let context = LockContext()
        ThreadSlot.value = Unmanaged.passRetained(context).toOpaque()
        return context
    }
}

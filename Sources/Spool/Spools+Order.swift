import Turnstone
import Unix

extension Spools {
    private var orderPath: String { "\(folder)/order.lock" }

    /// A number for a message that is accepted now, larger than that of every message accepted before: the
    /// nanoseconds since 1970, or the next number after the last one if the clock was set back.
    ///
    /// The last number is in a file, which is not synchronized: after a power failure the clock alone tells
    /// the order, as it does if the file cannot be used.
    ///
    /// - Parameter now: when the request began. The system's clock is asked for what is smaller than a millisecond.
    /// - Throws: if the spool's folder cannot be made.
    package func nextOrder(at now: Timestamp) throws(Failure) -> Int64 {
        let time = now.milliseconds.saturatingMultiply(1_000_000)
            .saturatingAdd(Timestamp.systemNanoseconds % 1_000_000)
        // Durably: whoever accepts the first message finds the folder made.
        if try !systemCalls(Files.exists(folder)) { try systemCalls(Files.makeFolder(folder)) }
        do throws(SystemError) { return try nextOrder(at: time) } catch {
            if error.errno.isFileSpecific { UnusableFiles.record(orderPath, error.errno.name) }
            return time
        }
    }

    private func nextOrder(at time: Int64) throws(SystemError) -> Int64 {
        let file = try FileDescriptor.open(orderPath, .update)
        // A program that was stopped while it held the lock must not keep others from accepting messages.
        guard try file.lock(patience: .milliseconds(200)) else { return time }
        defer { file.unlock() }
        let bytes = try file.read(upTo: Self.orderDigits, at: 0)
        let last = Int64(String(decoding: bytes, as: UTF8.self)) ?? 0
        let next = max(time, last < .max ? last + 1 : 0)
        let digits = String(next)
        let zeros = String(repeating: "0", count: max(0, Self.orderDigits - digits.utf8.count))
        try file.write(Array((zeros + digits).utf8), at: 0)
        return next
    }

    /// Always as many, so that a number replaces the last one in one write.
    private static let orderDigits = 19
}

import JSON
import Turnstone
import Unix

/// How many of a message's pushes may leave in a minute, for the drainers of all queues together.
///
/// Time is divided into slots, and so many pushes may leave in each that no minute, wherever it begins, has
/// more than allowed: about 97 % of them. A slot is taken durably before its first push leaves, so a killed
/// drainer loses at most what was left of one.
package final class Throttle {
    private let path: String
    /// The most pushes of a slot.
    private let size: Int
    private let length: Interval
    /// How long after a slot's start its pushes may leave: at most a second, so that two of them are no
    /// nearer to each other than slots are.
    private let validity: Interval
    /// The slot that this drainer has taken, and how many more pushes may leave in it.
    private var slot: (start: Timestamp, end: Timestamp, rest: Int)?
    /// How many pushes have left beyond that.
    private var owed = 0
    /// When another drainer's slot ends.
    private var nextSlot: Timestamp?

    /// The most pushes in a minute that a sender may ask for.
    package static let most: Int64 = 1_000_000

    init(at path: String, perMinute: Int64) {
        self.path = path
        // More than the allowed number of pushes take more than 60 s in this way, whatever their places in
        // the first and the last slot.
        let size = max(1, perMinute / 64)
        self.size = Int(size)
        length = .milliseconds((62_000 * size + perMinute - 1) / perMinute)
        validity = min(length, .seconds(1))
    }

    /// Whether a push may leave now. Takes a slot if necessary.
    @export(interface)
    package func isOpen(at now: Timestamp) throws(Failure) -> Bool {
        var unused: Timestamp?
        if let slot, now >= slot.start, now < slot.end {
            if now - slot.start < validity { return slot.rest > 0 }
            guard slot.rest == size else { return false }
            unused = slot.end
        }
        // A moment further ahead was stored while the clock was wrong.
        if let nextSlot, now < nextSlot, nextSlot - now <= length { return false }
        slot = nil
        nextSlot = nil
        return try systemCalls { () throws(SystemError) in try takeSlot(at: now, for: unused) }
    }

    /// - Parameter unused: the end of a slot of this drainer in which no push has left. The new one takes its
    ///   place.
    private func takeSlot(
        at now: Timestamp, for unused: Timestamp?
    ) throws(SystemError) -> Bool {
        try Files.makeFolder(Files.parent(of: path))
        let file = try FileDescriptor.open(path, .update)
        // Another drainer takes one at this moment.
        guard try file.tryLock() else { return false }
        defer { file.unlock() }
        let known = members(of: try file.read(upTo: 256, at: 0)[...])
        if let end = known?["until"]?.timestamp, end > now, end - now <= length, end != unused {
            nextSlot = end
            return false
        }
        let end = now + length
        let text = JSON.text(["version": 1, "until": JSONValue(end)])
        let blanks = [UInt8](repeating: UInt8(ascii: " "), count: max(0, 63 - text.count))
        try file.write(text + blanks + [UInt8(ascii: "\n")], at: 0)
        try file.synchronizeData()
        if known == nil { try Files.synchronizeFolder(of: path) }
        let rest = size - owed
        owed = max(0, -rest)
        slot = (now, end, max(0, rest))
        return rest > 0
    }

    /// Records that a push leaves.
    package func take() {
        if let rest = slot?.rest, rest > 0 { slot?.rest = rest - 1 } else { owed += 1 }
    }
}

extension Spools {
    private var throttles: String { "\(folder)/throttles" }

    /// The throttle of a notification; `nil` if it has none.
    package func throttle(of notification: Notification) -> Throttle? {
        notification.throttle.map {
            Throttle(at: "\(throttles)/\(notification.id).json", perMinute: $0)
        }
    }

    /// Removes the throttle of a notification that is in no queue any more.
    package func removeThrottle(of id: String) throws(Failure) {
        guard try !mayContain(id) else { return }
        Files.remove("\(throttles)/\(id).json")
    }

    /// Removes the throttles of notifications that are in no queue, an hour after they were last used.
    package func sweepThrottles() throws(Failure) {
        for name in try systemCalls(Files.names(in: throttles)) {
            guard let changed = try systemCalls(Files.changed("\(throttles)/\(name)")),
                Timestamp.systemNow - changed > .hours(1)
            else { continue }
            try removeThrottle(of: String(decoding: Array(name.utf8.dropLast(5)), as: UTF8.self))
        }
    }

    /// When a push of a throttled notification last left; `nil` before the first.
    func lastThrottled(_ id: String, at now: Timestamp) throws(Failure) -> Timestamp? {
        try changed("\(throttles)/\(id).json", at: now)
    }
}

import Turnstone
import Unix

/// How many notifications a queue has, by what they wait for.
package struct QueueLength: Equatable, Sendable {
    package var urgent = 0
    package var normal = 0
    package var backlog = 0
    /// Also the throttled ones.
    package var bulk = 0
    /// Waiting for another attempt.
    package var putOff = 0
    /// Waiting for their senders' `send_after`.
    package var scheduled = 0
    /// Messages that wait for the end of quiet hours or a mute.
    package var held = 0
    /// Files in `failed/`.
    package var failed = 0
    /// Whether all were counted. If not, there are at least as many.
    package var isComplete = true
}

extension Spool {
    /// Counts the notifications without opening them: a million names take about half a second.
    ///
    /// - Parameter end: when to stop counting.
    @export(interface)
    package func length(until end: Instant) throws(Failure) -> QueueLength {
        var length = QueueLength()
        length.urgent = try count(ready(.urgent), until: end, &length.isComplete)
        length.normal = try count(ready(.normal), until: end, &length.isComplete)
        length.backlog = try count(ready(.backlog), until: end, &length.isComplete)
        for lane in [Lane.bulk, .throttled] {
            length.bulk += try count(ready(lane), until: end, &length.isComplete)
        }
        for folder in try waitingFolders() {
            let count = try count("\(waiting)/\(folder.name)", until: end, &length.isComplete)
            if folder.since == nil { length.scheduled += count } else { length.putOff += count }
        }
        length.held = try countHeld(until: end, &length.isComplete)
        length.failed = try count("\(folder)/failed", until: end, &length.isComplete)
        return length
    }

    private func countHeld(until end: Instant, _ isComplete: inout Bool) throws(Failure) -> Int {
        var sum = 0
        for moment in try names(in: "\(folder)/held") {
            let path = "\(folder)/held/\(moment)"
            for box in try names(in: path) {
                guard Instant.now < end else {
                    isComplete = false
                    return sum
                }
                sum += try count("\(path)/\(box)", until: end, &isComplete)
            }
        }
        return sum
    }

    /// Counts the messages that are held for a user.
    @export(interface)
    package func heldCount(of user: UserID, until end: Instant) throws(Failure) -> Int {
        let prefix = HeldBox.prefix(of: user).utf8
        var sum = 0
        var isComplete = true
        for moment in try names(in: "\(folder)/held") where Instant.now < end {
            for box in try names(in: "\(folder)/held/\(moment)")
            where box.utf8.starts(with: prefix) {
                sum += try count("\(folder)/held/\(moment)/\(box)", until: end, &isComplete)
            }
        }
        return sum
    }

    /// The number of notifications in a folder. A folder that cannot be listed counts as empty.
    private func count(
        _ folder: String, until end: Instant, _ isComplete: inout Bool
    ) throws(Failure) -> Int {
        let list = FolderList(folder)
        var count = 0
        do throws(SystemError) {
            while let name = try list.next() {
                if idOfFile(name) != nil { count += 1 }
                // The clock takes as long as some names.
                if count % 256 == 255, Instant.now >= end {
                    isComplete = false
                    break
                }
            }
        } catch {
            guard error.errno.isFileSpecific else { throw error.failure }
        }
        return count
    }
}

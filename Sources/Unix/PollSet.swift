import CUnix
import Turnstone

/// The descriptors that a program waits for.
///
/// C: `poll(2)`.
package struct PollSet {
    private var entries: [pollfd] = []

    package init() {}

    package mutating func removeAll() {
        entries.removeAll(keepingCapacity: true)
    }

    /// - Returns: the descriptor's index, for ``canRead(_:)`` and ``canWrite(_:)``.
    @discardableResult
    package mutating func add(_ number: Int32, read: Bool = true, write: Bool = false) -> Int {
        let events = (read ? POLLIN : 0) | (write ? POLLOUT : 0)
        entries.append(pollfd(fd: number, events: Int16(events), revents: 0))
        return entries.count - 1
    }

    /// Waits until a descriptor is ready, a signal arrives, or the time is up.
    ///
    /// - Parameter patience: the longest wait; `nil` for no limit.
    /// - Returns: how many are ready.
    @discardableResult
    package mutating func wait(for patience: Interval?) -> Int {
        let patience = patience.map { Int32(clamping: max(0, $0.milliseconds)) } ?? -1
        let ready = poll(&entries, nfds_t(entries.count), patience)
        if ready < 0 {  // an interrupted call leaves no valid results
            for index in entries.indices { entries[index].revents = 0 }
        }
        return max(0, Int(ready))
    }

    /// Whether a read would return now, if only to report that the connection is broken.
    package func canRead(_ place: Int) -> Bool {
        Int32(entries[place].revents) & (POLLIN | POLLHUP | POLLERR | POLLNVAL) != 0
    }

    package func canWrite(_ place: Int) -> Bool {
        Int32(entries[place].revents) & (POLLOUT | POLLHUP | POLLERR | POLLNVAL) != 0
    }
}

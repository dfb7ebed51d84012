import Turnstone
import Unix

extension Spool {
    /// The names of the files that were set aside in `failed/`.
    package func failed() throws(Failure) -> [String] {
        try systemCalls(Files.names(in: "\(folder)/failed"))
    }

    /// Since when the oldest notification that could be sent now has waited. It checks up to a hundred files
    /// of each lane: if nothing is sent, all of them get old.
    @export(interface)
    package func oldestDue(at now: Timestamp) throws(Failure) -> Timestamp? {
        var oldest = try oldestPutOff(at: now)
        for lane in Lane.all {
            let list = FolderList(ready(lane))
            var count = 0
            while count < 100,
                let name = try systemCalls(list.next())
            {
                guard idOfFile(name) != nil else { continue }
                count += 1
                do throws(Failure) {
                    guard let file = try SpoolFile.open("\(ready(lane))/\(name)") else { continue }
                    var since = file.notification.accepted
                    if lane == .throttled {
                        // It waits on purpose, but not for longer than until its next push.
                        let spools = Spools(state: state, shards: queue.count)
                        let last = try spools.lastThrottled(file.notification.id, at: now)
                        since = max(since, last ?? since)
                    }
                    oldest = min(oldest ?? now, since)
                } catch {
                    // The drainer sets it aside.
                    guard Damage.explains(error) else { throw error }
                }
            }
        }
        if let box = try oldestBox(at: now) { oldest = min(oldest ?? box, box) }
        return oldest
    }

    /// Whether a notification waits for another attempt.
    package func hasPutOff() throws(Failure) -> Bool {
        for folder in try waitingFolders() where folder.since != nil {
            if try hasNotification("\(waiting)/\(folder.name)") { return true }
        }
        return false
    }

    /// Whether a notification waits for its first attempt, or for another one.
    package func hasReadyOrPutOff() throws(Failure) -> Bool {
        if try hasPutOff() { return true }
        return try hasReady()
    }

    private func oldestPutOff(at now: Timestamp) throws(Failure) -> Timestamp? {
        for folder in try waitingFolders() where folder.until <= now {
            if try hasNotification("\(waiting)/\(folder.name)") { return folder.until }
        }
        return nil
    }
}

extension Spools {
    /// The files of receipts that cannot be read, or could not and were set aside, as far as there is time.
    @export(interface)
    package func unreadableReceipts(until end: Instant) throws(Failure) -> [Failure] {
        var unreadable: [Failure] = []
        for spool in try all() { unreadable += try ReceiptLog(of: spool).unreadable(until: end) }
        return unreadable
    }
}

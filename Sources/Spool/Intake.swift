import Turnstone
import Unix

/// What the one drainer has in hand: it takes notifications out of the spool, and puts them off or ends
/// them when their receipts are durable.
///
/// Only whoever holds ``Spool/election()`` may have one.
package final class Intake {
    let spool: Spool
    package let log: ReceiptLog
    let checkpoint: Checkpoint
    /// What was taken and is not put back, by id.
    var held: [String: SpoolFile] = [:]
    /// What the receipts tell of notifications that nobody has taken since.
    var recovered: [String: Progress] = [:]
    /// What could not be taken out of the spool though it is over: not to be looked at again.
    var stuck: [String: Progress] = [:]
    /// What is called off: ``lookForMarks()``.
    var marks: Set<String> = []
    /// Of what is called off, what was taken before its time for that.
    var called: Set<String> = []
    private var lists: [(lane: Lane, list: FolderList)] = []
    /// The moments that are over and whose folders were not read to their ends, and the first one's list.
    private var due: [Timestamp]?
    private var dueList: FolderList?

    /// Comes before all else: ``recover(at:)``.
    package init(spool: Spool, log: ReceiptLog) {
        self.spool = spool
        self.log = log
        checkpoint = Checkpoint(spool)
        lists = Lane.all.map { ($0, FolderList(spool.ready($0))) }
    }

    /// Whether there is anything that could not be taken out of the spool though it is over.
    package var isStuck: Bool { !stuck.isEmpty }

    /// The next notification of a lane that is not in hand; `nil` where the lane's folder was read to its
    /// end, after which it is read from the start.
    package func next(in lane: Lane) throws(Failure) -> SpoolFile? {
        guard let list = lists.first(where: { $0.lane == lane })?.list else { return nil }
        while true {
            guard let name = try name(in: list) else {
                list.removeIfWorn()
                return nil
            }
            if let file = try take(spool.ready(lane), name) { return file }
        }
    }

    /// The next notification that has waited long enough and is not in hand; `nil` after the last one,
    /// whereupon it begins anew.
    package func nextDue(at now: Timestamp) throws(Failure) -> SpoolFile? {
        var moments: [Timestamp]
        if let due { moments = due } else { moments = try spool.moments().filter { $0 <= now } }
        while let moment = moments.first {
            let folder = spool.waiting(until: moment)
            let list = dueList ?? FolderList(folder)
            while let name = try name(in: list) {
                guard let file = try take(folder, name) else { continue }
                due = moments
                dueList = list
                return file
            }
            dueList = nil
            moments.removeFirst()
        }
        due = nil
        return nil
    }

    private func name(in list: FolderList) throws(Failure) -> String? {
        try systemCalls { () throws(SystemError) in try list.next() }
    }

    func take(_ folder: String, _ name: String) throws(Failure) -> SpoolFile? {
        guard let id = idOfFile(name), held[id] == nil, stuck[id] == nil else { return nil }
        let path = "\(folder)/\(name)"
        let opened: SpoolFile?
        do throws(Failure) { opened = try SpoolFile.open(path) } catch {
            guard error.cause == "corrupt" else { throw error }
            try setAside(path)
            return nil
        }
        guard let opened else { return nil }
        guard opened.notification.id == id else {
            try setAside(path)
            return nil
        }
        opened.progress = recovered.removeValue(forKey: id) ?? Progress()
        held[id] = opened
        return opened
    }

    /// Lets go of a notification as it is: a later drainer takes it up where the receipts say it is.
    package func leave(_ file: SpoolFile) {
        held[file.notification.id] = nil
        if file.progress.start != nil { recovered[file.notification.id] = file.progress }
    }

    /// A file that cannot be read is kept for its owner, out of the way.
    package func setAside(_ file: SpoolFile) throws(Failure) {
        held[file.notification.id] = nil
        try setAside(file.path)
    }

    private func setAside(_ path: String) throws(Failure) {
        try systemCalls { () throws(SystemError) in
            try Files.makeFolder("\(spool.folder)/failed")
            try Files.rename(path, "\(spool.folder)/failed/\(Files.name(of: path))")
        }
    }

    /// Ends a notification of which every device has its outcome.
    package func finish(_ file: SpoolFile, at now: Timestamp) {
        log.append(finished: file, at: now)
        remove(file)
        tidySeries(of: file)
        removeMark(of: file.notification.id)
    }

    /// Notes that a pass is over; ``putOff(_:until:)`` follows when that is durable.
    package func endPass(_ file: SpoolFile, until moment: Timestamp) {
        log.append(putOff: file, until: moment)
    }

    /// Puts what has no outcome off until a moment, each device with one attempt more.
    package func putOff(_ file: SpoolFile, until moment: Timestamp) throws(Failure) {
        let path = "\(spool.waiting(until: moment))/\(file.notification.id).jsonl"
        guard let whole = try SpoolFile.open(file.path) else { return }
        whole.progress = file.progress
        var members = file.notification.members
        members["pass"] = .integer(Int64(file.pass + 1))
        members["reached"] = file.isReached ? true : nil
        try spool.write(path) { (writer) throws(Failure) in
            try writer.append(members)
            while var device = try whole.next() {
                device.attempts += 1
                device.isInDoubt = whole.isInDoubt(device)
                try writer.append(device.members)
            }
        }
        if path == file.path { held[file.notification.id] = nil } else { remove(file) }
    }

    /// A mark that stays is in nobody's way, and goes with the next one of its series.
    private func tidySeries(of file: SpoolFile) {
        guard let series = file.notification.series else { return }
        do throws(Failure) { try spool.tidy(series, without: file.notification.id) } catch {}
    }

    /// Takes a notification's file away. Where that cannot be done, it is not looked at again before the next
    /// drainer, which finds in the receipts that it is over.
    private func remove(_ file: SpoolFile) {
        let id = file.notification.id
        held[id] = nil
        if !Files.remove(file.path) {
            var isThere = true
            do throws(SystemError) { isThere = try Files.exists(file.path) } catch {}  // it may be
            if isThere { stuck[id] = file.progress }
        }
        // The folder of a moment goes with its last file.
        if file.path.utf8.starts(with: spool.waiting.utf8) {
            Files.removeEmptyFolder(Files.parent(of: file.path))
        }
    }
}

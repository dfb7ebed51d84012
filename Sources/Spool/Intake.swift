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
    /// The notifications in hand, by id.
    var held: [String: SpoolFile] = [:]
    /// What the receipts tell of notifications that nobody has taken since.
    var recovered: [String: Progress] = [:]
    /// Notifications that are finished, but whose files could not be removed: they are not taken again.
    var stuck: [String: Progress] = [:]
    /// What is called off: ``takeCancelled()``.
    var cancelled: Set<String> = []
    /// Told of each file that cannot be used.
    let report: (Failure) -> Void
    /// The moment of the drainer's present round, as far as this is told.
    var now = Timestamp(milliseconds: 0)
    /// Folders that could not be listed: each is reported once.
    private var unlisted: Set<String> = []
    /// Of what is called off, what was taken before its time for that.
    var takenEarly: Set<String> = []
    private var lists: [(lane: Lane, list: NameList)] = []
    /// The folders of `waiting/` that are due and were not read to their ends, and the first one's list.
    private var due: [WaitingFolder]?
    private var dueList: FolderList?
    /// When the first notification was moved to the backlog after the lanes were read.
    private var movingSince: Instant?

    /// Comes before all else: ``recover(at:)``.
    package init(
        spool: Spool, log: ReceiptLog, report: @escaping (Failure) -> Void = { _ in }
    ) {
        self.spool = spool
        self.log = log
        self.report = report
        checkpoint = Checkpoint(spool)
        lists = Lane.all.map { ($0, NameList(spool.ready($0))) }
    }

    /// Whether there are finished notifications whose files could not be removed.
    package var isStuck: Bool { !stuck.isEmpty }

    /// The next notification of a lane that is not in hand; `nil` where the lane's folder was read to its
    /// end, after which it is read from the start.
    package func next(in lane: Lane) throws(Failure) -> SpoolFile? {
        guard let list = lists.first(where: { $0.lane == lane })?.list else { return nil }
        listAgainIfMoving()
        while true {
            guard let name = try name(in: spool.ready(lane), list.next) else {
                list.removeIfOversized()
                return nil
            }
            if let file = try take(spool.ready(lane), name) { return file }
        }
    }

    /// Moves a notification to the backlog, so that other users' are sent first.
    ///
    /// - Returns: `false` where it could not be moved and is still in hand.
    package func moveToBacklog(_ file: SpoolFile) -> Bool {
        let folder = spool.ready(.backlog)
        do throws(SystemError) {
            try Files.makeFolder(folder)
            try Files.rename(file.path, "\(folder)/\(file.notification.id).jsonl")
        } catch { return false }
        removeIfWaiting(Files.parent(of: file.path))
        leave(file)
        movingSince = movingSince ?? Instant.now
        return true
    }

    /// Reads the lanes' folders again every 50 ms while notifications are moved to the backlog, to find other
    /// users' new ones.
    private func listAgainIfMoving() {
        guard let since = movingSince, Instant.now - since >= .milliseconds(50) else { return }
        movingSince = nil
        for (lane, list) in lists where lane == .urgent || lane == .normal { list.restart() }
    }

    /// The next notification that has waited long enough and is not in hand; `nil` after the last one,
    /// whereupon it begins anew.
    package func nextDue(at now: Timestamp) throws(Failure) -> SpoolFile? {
        self.now = now
        var folders: [WaitingFolder]
        if let due {
            folders = due
        } else {
            folders = try spool.waitingFolders().filter { $0.isDue(at: now) }
        }
        while let first = folders.first {
            let folder = "\(spool.waiting)/\(first.name)"
            let list = dueList ?? FolderList(folder)
            while let name = try name(in: folder, list.next) {
                guard let file = try take(folder, name) else { continue }
                due = folders
                dueList = list
                return file
            }
            dueList = nil
            folders.removeFirst()
            // Whoever was killed before it had put anything into it has left it behind.
            Files.removeEmptyFolder(folder)
        }
        due = nil
        return nil
    }

    /// The next name in a folder. One that cannot be listed counts as empty: the others can go on.
    private func name(
        in folder: String, _ next: () throws(SystemError) -> String?
    ) throws(Failure) -> String? {
        do throws(SystemError) { return try next() } catch {
            guard error.errno.isFileSpecific else { throw error.failure }
            reportUnlisted(error.failure)
            return nil
        }
    }

    /// Reports once that a folder cannot be listed.
    func reportUnlisted(_ failure: Failure) {
        if unlisted.insert(failure.file ?? "").inserted { report(failure) }
    }

    func take(_ folder: String, _ name: String) throws(Failure) -> SpoolFile? {
        let path = "\(folder)/\(name)"
        guard let id = idOfFile(name) else {
            removeIfAbandoned(path)
            return nil
        }
        guard held[id] == nil, stuck[id] == nil else { return nil }
        let opened: SpoolFile
        do throws(Failure) {
            guard let file = try SpoolFile.open(path) else {
                guard Files.target(ofLink: path) != nil else { return nil }
                throw corrupt(path)  // a link that leads nowhere would be found again and again
            }
            guard file.notification.id == id else { throw corrupt(path) }
            opened = file
        } catch {
            guard Damage.explains(error) else { throw error }
            try setAside(path, id, recovered.removeValue(forKey: id) ?? Progress(), error)
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

    /// Ends a notification of which every device has its outcome.
    package func finish(_ file: SpoolFile, at now: Timestamp) {
        log.append(finished: file, at: now)
        remove(file)
        if let series = file.notification.series {
            tidy(series, without: file.notification.id)
        }
        removeCancellation(of: file.notification.id)
    }

    /// Notes that a pass is over; ``putOff(_:until:)`` follows when that is durable.
    package func endPass(_ file: SpoolFile, until moment: Timestamp) {
        log.append(putOff: file, until: moment)
    }

    /// Puts what has no outcome off until a moment, each device that has failed with one failure more.
    package func putOff(_ file: SpoolFile, until moment: Timestamp) throws(Failure) {
        let folder = WaitingFolder(
            .putOff(until: moment), now: now, expires: file.notification.expires)
        let path = "\(spool.waiting)/\(folder.name)/\(file.notification.id).jsonl"
        guard let whole = try SpoolFile.open(file.path) else { return }
        whole.progress = file.progress
        var members = file.notification.members
        members["pass"] = .integer(Int64(file.pass + 1))
        members["reached"] = file.isReached ? true : nil
        members["outcomes"] = file.outcomes
        try spool.write(path) { (writer) throws(Failure) in
            try writer.append(members)
            while var device = try whole.nextOfAll() {
                if let trouble = whole.progress.trouble(of: device.number) {
                    device.failures = device.failures(after: trouble)
                }
                device.isInDoubt = whole.isInDoubt(device)
                try writer.append(device.members)
            }
        }
        if path == file.path { held[file.notification.id] = nil } else { remove(file) }
    }

    /// A mark that stays is in nobody's way, and goes with the next one of its series.
    func tidy(_ series: Series, without id: String) {
        do throws(Failure) { try spool.tidy(series, without: id, now: now) } catch {}
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
        removeIfWaiting(Files.parent(of: file.path))
    }

    /// The folder of a moment goes with its last file.
    private func removeIfWaiting(_ folder: String) {
        if folder.utf8.starts(with: spool.waiting.utf8) { Files.removeEmptyFolder(folder) }
    }
}

import Turnstone
import Unix

/// Takes a message's change out of the badges of users whom it did not reach: of those that are given, and, unless
/// these are all, of others whom the receipts name. The change is `nil` if only the message's record can tell it.
/// After a crash it may be called again.
package typealias TakeBackBadges =
    (_ id: String, BadgeChange?, _ among: Set<UserID>, _ areAll: Bool) throws(Failure) -> Void

/// The notifications that the drainer has in hand. It takes them out of the spool, and puts them off or
/// finishes them once their receipts are durable.
///
/// Only the holder of ``Spool/election()`` may create one.
package final class Intake {
    let spool: Spool
    package let log: ReceiptLog
    let checkpoint: Checkpoint
    /// The notifications in hand, by id.
    var held: [String: SpoolFile] = [:]

    /// Whether a notification is in hand.
    package func hasInHand(_ id: String) -> Bool { held[id] != nil }

    /// Whether a push of a notification in hand has its outcome, or may have arrived without an answer. Its file
    /// does not say so yet.
    package func mayHaveArrived(_ id: String) -> Bool {
        held[id]?.progress.hasAttempts ?? false
    }

    /// By id, what was read of the notifications that ``isOpen(_:forAnyOf:)`` and
    /// ``mayHaveArrived(_:onAnyOf:)`` were asked about: at most a hundred thousand devices in all, unless one
    /// notification has more.
    var spooledDevices: [String: SpooledDevices] = [:]
    /// By id, the files of the notifications that they were asked about in this turn of the drainer's loop; `nil`
    /// for one that is not in the spool. It may be moved here from a former queue later.
    var places: [String: String?] = [:]
    /// The progress of notifications that were not taken yet, according to the receipts.
    var recovered: [String: Progress] = [:]
    /// Where the receipts of notifications begin that were set aside, and may be repaired.
    var repairs: Repairs
    /// Notifications that are not taken again, because their files could not be removed or moved to
    /// `failed/`, or may be readable later.
    var stuck: [String: Progress] = [:]
    /// When to look again at files that cannot be set aside because a document is locked.
    var lockedOut: [String: Instant] = [:]
    /// The ids of the notifications to cancel, as of the last ``takeCancelled()``.
    var cancelled: Set<String> = []
    /// Called with each notification that is set aside or cancelled, once the receipts say so.
    let takeBack: TakeBackBadges
    /// Called with the failure of each file that cannot be used.
    let report: (Failure) -> Void
    /// The time of the drainer's current round, set by ``recover(at:)`` and ``nextDue(at:)``.
    var now = Timestamp(milliseconds: 0)
    /// Folders that could not be listed: each is reported once.
    private var unlisted: Set<String> = []
    /// The cancelled notifications that were taken to be cancelled, whether due or not.
    var takenEarly: Set<String> = []
    /// When cancelled notifications were last looked for that may be in a folder which cannot be entered.
    var soughtInVain: [String: Instant] = [:]
    private var lists: [(lane: Lane, list: NameList)] = []
    /// The due folders of `waiting/` that were not read to the end, and the list of the first one.
    private var due: [WaitingFolder]?
    private var dueList: NameList?
    /// When the first notification was moved to the backlog since the lanes were last listed.
    private var movingSince: Instant?
    /// What is in the backlog, if that is known.
    var backlog: Backlog?

    /// Call ``recover(at:)`` before anything else.
    @export(interface)
    package init(
        spool: Spool, log: ReceiptLog, takeBack: @escaping TakeBackBadges = { (_, _, _, _) in },
        report: @escaping (Failure) -> Void = { _ in }
    ) {
        self.spool = spool
        self.log = log
        self.takeBack = takeBack
        self.report = report
        checkpoint = Checkpoint(spool)
        repairs = Repairs(spool)
        lists = Lane.all.map { ($0, NameList(spool.ready($0))) }
    }

    /// Whether there are notifications that this drainer does not take again.
    package var isStuck: Bool { !stuck.isEmpty }

    /// Takes the next notification of a lane that is not in hand; `nil` at the end of the lane's folder,
    /// after which it starts again.
    @export(interface)
    package func next(in lane: Lane) throws(Failure) -> SpoolFile? {
        guard let list = list(of: lane) else { return nil }
        listAgainIfMoving()
        while true {
            guard let name = try name(in: spool.ready(lane), list.next) else {
                list.removeIfOversized()
                if lane == .backlog { backlog?.didEnd(held.values) }
                return nil
            }
            if let file = try take(spool.ready(lane), name) { return file }
        }
    }

    /// Moves a notification to the backlog, so that other users' notifications are sent first.
    ///
    /// - Returns: `false` if it could not be moved and is still in hand.
    package func moveToBacklog(_ file: SpoolFile) -> Bool {
        let isFirst = !hasInBacklog(before: file)
        guard move(file, to: .backlog) else { return false }
        movingSince = movingSince ?? Instant.now
        backlog?.add(file)
        list(of: .backlog)?.add("\(file.notification.id).jsonl", isFirst: isFirst)
        return true
    }

    /// Whether the backlog may have an older notification to the same user, which must not be overtaken.
    package func hasInBacklog(before file: SpoolFile) -> Bool {
        if backlog == nil { backlog = Backlog(spool) }
        return backlog?.hasOlder(than: file) ?? false
    }

    /// Forgets what is in the backlog: somebody else has moved notifications there.
    package func forgetBacklog() {
        backlog = nil
        list(of: .backlog)?.restart()
    }

    /// Moves a notification to a lane's folder, to be taken from there.
    ///
    /// - Returns: `false` if it could not be moved and is still in hand.
    @export(interface)
    package func move(_ file: SpoolFile, to lane: Lane) -> Bool {
        let folder = spool.ready(lane)
        do throws(SystemError) {
            try Files.makeFolder(folder)
            try Files.rename(file.path, "\(folder)/\(file.notification.id).jsonl")
        } catch { return false }
        removeIfWaiting(Files.parent(of: file.path))
        backlog?.remove(file)
        leave(file)
        return true
    }

    private func list(of lane: Lane) -> NameList? { lists.first { $0.lane == lane }?.list }

    /// Lists the lanes again every 50 ms while notifications are moved to the backlog, to find other users'
    /// new ones.
    private func listAgainIfMoving() {
        guard let since = movingSince, Instant.now - since >= .milliseconds(50) else { return }
        movingSince = nil
        for (lane, list) in lists where lane == .urgent || lane == .normal { list.restart() }
    }

    /// Begins a turn of the drainer's loop: notifications may have been moved since the last one.
    @export(interface)
    package func beginTurn() { places = [:] }

    /// Takes the next notification that is due and not in hand; `nil` after the last one, after which it
    /// starts again.
    @export(interface)
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
            let list = dueList ?? NameList(folder)
            while let name = try name(in: folder, list.next) {
                guard let file = try take(folder, name) else { continue }
                due = folders
                dueList = list
                return file
            }
            dueList = nil
            folders.removeFirst()
            // A program that was killed before it wrote a file has left the folder behind.
            Files.removeEmptyFolder(folder)
        }
        due = nil
        return nil
    }

    /// Returns the next name in a folder. A folder that cannot be listed counts as empty, so that the others
    /// are read.
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
        if let moment = lockedOut[id], Instant.now < moment { return nil }
        let opened: SpoolFile
        do throws(Failure) {
            guard let file = try SpoolFile.open(path) else {
                guard Files.target(ofLink: path) != nil else { return nil }
                throw corrupt(path)  // a dangling link would be found again and again
            }
            guard file.notification.id == id else { throw corrupt(path) }
            opened = file
        } catch {
            guard Damage.explains(error) else { throw error }
            try setAsideUnknown(path, id, error)
            return nil
        }
        guard let progress = progressIfReadable(of: id) else { return nil }
        opened.progress = progress
        held[id] = opened
        return opened
    }

    /// Lets go of a notification without changing it. The next drainer continues where the receipts say it
    /// is.
    package func leave(_ file: SpoolFile) {
        held[file.notification.id] = nil
        if file.progress.start != nil { recovered[file.notification.id] = file.progress }
    }

    /// Finishes a notification whose devices all have an outcome.
    package func finish(_ file: SpoolFile, at now: Timestamp) {
        log.append(finished: file, at: now)
        remove(file)
        if let series = file.notification.series {
            tidy(series, without: file.notification.id)
        }
        removeCancellation(of: file.notification.id)
        forgetRepair(of: file.notification.id)
    }

    /// Records that a pass is over. Call ``putOff(_:until:)`` once that is durable.
    package func endPass(_ file: SpoolFile, until moment: Timestamp) {
        log.append(putOff: file, until: moment)
    }

    /// Puts the devices without an outcome off until a moment. Devices that have failed get one failure more.
    @export(interface)
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
            try writer.begin(members)
            while var device = try whole.nextOfAll() {
                if let kind = whole.progress.kind(of: device.number) {
                    device.failures = device.failures(after: kind)
                }
                device.isInDoubt = whole.isInDoubt(device)
                try writer.append(device.members)
            }
        }
        if path == file.path { held[file.notification.id] = nil } else { remove(file) }
        forgetRepair(of: file.notification.id)
    }

    /// Removes marks that are no longer needed. A mark that stays does no harm, and goes with the next
    /// notification of its series.
    func tidy(_ series: Series, without id: String) {
        do throws(Failure) { try spool.tidy(series, without: id, now: now) } catch {}
    }

    /// Removes a notification's file. If that fails, this drainer skips the file, and the next one finds in
    /// the receipts that it is finished.
    private func remove(_ file: SpoolFile) {
        let id = file.notification.id
        held[id] = nil
        backlog?.remove(file)
        if !Files.remove(file.path) {
            var isThere = true  // also if the check fails
            do throws(SystemError) { isThere = try Files.exists(file.path) } catch {}
            if isThere { stuck[id] = file.progress }
        }
        removeIfWaiting(Files.parent(of: file.path))
    }

    /// Removes a folder of `waiting/` with its last file.
    private func removeIfWaiting(_ folder: String) {
        if folder.utf8.starts(with: spool.waiting.utf8) { Files.removeEmptyFolder(folder) }
    }
}

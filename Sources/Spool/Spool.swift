import Crypto
import Turnstone
import Unix

/// The notifications that were accepted and have not all their outcomes: one file each, of a line for the
/// notification and one for each device.
///
/// `ready/` waits for the drainer, in lanes; `waiting/` is not to be tried before a moment, `failed/` nobody
/// could read. A drainer leaves a file where it is until it is done with it.
package struct Spool {
    package let folder: String

    /// - Parameter state: the state folder.
    package init(state: String) {
        folder = "\(state)/spool"
    }

    var waiting: String { "\(folder)/waiting" }

    func ready(_ lane: Lane) -> String { "\(folder)/ready/\(lane.rawValue)" }

    /// Accepts a notification: when this returns, it will be delivered to each of the devices, whatever
    /// happens.
    ///
    /// Whoever calls holds what makes the id unique (a user's lock) and has asked ``find(_:)``. Devices that
    /// are known to be good should come first.
    ///
    /// - Parameters:
    ///   - moment: before which it is not sent.
    ///   - erasures: ``erasures()`` before the users' documents were looked at, if their locks are not held.
    /// - Throws: later, if a user was erased meanwhile.
    package func accept(
        _ notification: Notification, to devices: some Sequence<Delivery>,
        notBefore moment: Moment? = nil, since erasures: Int64? = nil
    ) throws(Failure) {
        var source = ListedDeliveries(rest: devices.makeIterator())
        try prepare(notification, to: &source, notBefore: moment, since: erasures).accept()
    }

    /// Writes a notification that is accepted later, by ``PreparedNotification/accept()``.
    ///
    /// Its devices are written one by one as the source gives them, so that a hundred thousand need no
    /// memory. As soon as there are more than ``Lane/most``, the notification is bulk.
    ///
    /// - Parameters: as of ``accept(_:to:notBefore:since:)``.
    package func prepare(
        _ notification: Notification, to source: inout some DeliverySource,
        notBefore moment: Moment? = nil, since erasures: Int64? = nil
    ) throws(Failure) -> PreparedNotification {
        var notification = notification
        if let series = notification.series {
            notification.series = series.following(try marks(of: series))
        }
        var first: [Delivery] = []
        var count = 0
        while count <= Lane.most, let device = try source.next() {
            first.append(device)
            if !device.isAlternate { count += 1 }
        }
        let place =
            moment.map { moment in
                let folder = WaitingFolder(
                    moment, now: notification.accepted, expires: notification.expires)
                return "\(waiting)/\(folder.name)"
            } ?? ready(notification.lane(devices: count))
        let path = "\(place)/\(notification.id).jsonl"
        var number = 0
        try prepare(path) { (writer) throws(Failure) in
            number = 0
            try writer.append(notification.members)
            for device in first { try writer.append(device, &number) }
            while let device = try source.next() { try writer.append(device, &number) }
            if let series = notification.series {
                try mark(notification.id, in: series, acceptedAt: notification.accepted)
            }
            guard let erasures else { return }
            // Whoever erases finds what is written by now.
            try writer.flush()
            try checkNoErasure(since: erasures)
        }
        let inside = place.utf8.dropFirst(folder.utf8.count + 1)
        return PreparedNotification(
            path: path, folder: String(decoding: Array(inside), as: UTF8.self), devices: number)
    }

    /// Accepts a notification whose acceptance was interrupted after ``PreparedNotification/makeFindable()``.
    ///
    /// - Parameter place: its ``PreparedNotification/folder``.
    package func complete(_ id: String, in place: String) throws(Failure) {
        let path = "\(folder)/\(place)/\(id).jsonl"
        try systemCalls { () throws(SystemError) in
            if try Files.exists(path + ".new") { try Files.commit(path) }
        }
    }

    /// Makes a file, at one instant and durably.
    func write(
        _ path: String, lines: (inout LineWriter) throws(Failure) -> Void
    ) throws(Failure) {
        try prepare(path, lines: lines)
        try systemCalls { () throws(SystemError) in try Files.commit(path) }
    }

    /// Writes the temporary file of a path.
    private func prepare(
        _ path: String, lines: (inout LineWriter) throws(Failure) -> Void
    ) throws(Failure) {
        // The drainer removes worn folders: one may go between being made and being used.
        for isLast in [false, false, true] {
            var hasBegun = false
            do throws(Failure) {
                try systemCalls(Files.makeFolder(Files.parent(of: path)))
                return try Files.prepare(path) { (file) throws(Failure) in
                    hasBegun = true
                    var writer = LineWriter(file)
                    try lines(&writer)
                    try writer.flush()
                }
            } catch {
                // Nothing has been written then: without its folder the file cannot even be made.
                guard error.cause == Errno.noEntry.name, !isLast, !hasBegun else { throw error }
            }
        }
    }

    /// The notification of this id, wherever it is.
    package func find(_ id: String) throws(Failure) -> Notification? {
        // Twice, since it may be put off, into a folder that was not there a moment ago.
        for _ in 0..<2 {
            if let path = try path(of: id), let found = try SpoolFile.open(path)?.notification {
                return found
            }
        }
        return nil
    }

    /// Where the file of this id is.
    func path(of id: String) throws(Failure) -> String? { try paths(of: id).first }

    func folders() throws(Failure) -> [String] {
        Lane.all.map { ready($0) } + (try waitingFolders()).map { "\(waiting)/\($0.name)" }
    }

    /// Whether a notification is in the spool, or is just being accepted.
    func isOpen(_ id: String) throws(Failure) -> Bool {
        if try contains(id) { return true }
        for folder in try folders() {
            do throws(SystemError) {
                if try Files.exists("\(folder)/\(id).jsonl.new") { return true }
            } catch {
                guard error.errno.isFileSpecific else { throw error.failure }
            }
        }
        // It may have got its name between the two.
        return try path(of: id) != nil
    }

    /// A notification that waits for another attempt; `nil` for any other, and where its file is damaged.
    package func putOff(_ id: String) throws(Failure) -> OpenNotification? {
        guard let path = try path(of: id), path.utf8.starts(with: waiting.utf8) else { return nil }
        return try openNotification(at: path, Progress())
    }

    /// Whether a notification waits for another attempt to reach a device, and cannot have reached it yet.
    ///
    /// - Parameter ids: the device's, as receipts name it.
    package func isMissed(_ id: String, by ids: [String]) throws(Failure) -> Bool {
        for path in try paths(of: id) where path.utf8.starts(with: waiting.utf8) {
            do throws(Failure) {
                guard let file = try SpoolFile.open(path) else { continue }
                while let delivery = try file.next() {
                    guard let device = delivery.device, ids.contains(device) else { continue }
                    return !delivery.isInDoubt
                }
            } catch {
                guard Damage.explains(error) else { throw error }
            }
        }
        return false
    }

    /// A notification that is not over, as its file and what the receipts tell of it say; `nil` where the
    /// file is gone, or damaged.
    func openNotification(
        at path: String, _ progress: Progress
    ) throws(Failure) -> OpenNotification? {
        do throws(Failure) {
            guard let file = try SpoolFile.open(path) else { return nil }
            file.progress = progress
            var devices: [String] = []
            while let delivery = try file.next() {
                if let device = delivery.device { devices.append(device) }
            }
            let folder = WaitingFolder(name: Files.name(of: Files.parent(of: path)))
            return OpenNotification(
                notification: file.notification, devices: devices,
                until: folder?.until ?? Timestamp(milliseconds: 0),
                isScheduled: folder != nil && folder?.since == nil)
        } catch {
            guard Damage.explains(error) else { throw error }
            return nil
        }
    }

    /// The names in a folder; none where it cannot be listed: that keeps nobody else from being told.
    func names(in folder: String) throws(Failure) -> [String] {
        do throws(SystemError) { return try Files.names(in: folder) } catch {
            guard error.errno.isFileSpecific else { throw error.failure }
            return []
        }
    }

    /// Where files of this id are: two, where a crash came between putting it off and taking it away.
    func paths(of id: String) throws(Failure) -> [String] {
        let folders = try folders()
        var paths: [String] = []
        for path in folders.map({ "\($0)/\(id).jsonl" }) {
            // A folder that cannot be entered keeps what is in it: the drainer reports it.
            do throws(SystemError) { if try Files.exists(path) { paths.append(path) } } catch {
                guard error.errno.isFileSpecific else { throw error.failure }
            }
        }
        return paths
    }

    /// Makes it durable that files are gone.
    func synchronizeFolders() throws(Failure) {
        for folder in try folders() + [waiting] {
            do throws(SystemError) { try Files.synchronizeFolder(folder) } catch {
                guard error.errno == .noEntry else { throw error.failure }
            }
        }
    }

    /// Where something waits, what comes first before the rest.
    func waitingFolders() throws(Failure) -> [WaitingFolder] {
        let names = try systemCalls(Files.names(in: waiting))
        return names.compactMap { WaitingFolder(name: $0) }.sorted { $0.until < $1.until }
    }

    /// Whether a drainer would find something to do: for programs that might start one.
    package func hasWork(at now: Timestamp) throws(Failure) -> Bool {
        if try hasReady() { return true }
        return try nextDue(at: now).map { $0 <= now } ?? false
    }

    /// Whether there is anything that is not put off.
    package func hasReady() throws(Failure) -> Bool {
        for lane in Lane.all where try hasNotification(ready(lane)) { return true }
        return false
    }

    /// The earliest moment at which something that waits is to be tried.
    package func nextDue(at now: Timestamp) throws(Failure) -> Timestamp? {
        let folders = try waitingFolders()
        var waiting = try first(among: folders.filter { $0.isDue(at: now) }).map { due in
            min(now, due.until)
        }
        if waiting == nil {
            waiting = try first(among: folders.filter { !$0.isDue(at: now) })?.until
        }
        guard let box = try nextBox(at: now) else { return waiting }
        return min(box, waiting ?? box)
    }

    /// The first of the folders that has a notification in it: one that was killed while it accepted one may
    /// have left a folder with nothing, or with half a file.
    private func first(among folders: [WaitingFolder]) throws(Failure) -> WaitingFolder? {
        for folder in folders where try hasNotification("\(waiting)/\(folder.name)") {
            return folder
        }
        return nil
    }

    /// Whether there is a notification in a folder. One that cannot be listed counts as empty.
    func hasNotification(_ folder: String) throws(Failure) -> Bool {
        let list = FolderList(folder)
        do throws(SystemError) {
            while let name = try list.next() { if idOfFile(name) != nil { return true } }
        } catch {
            guard error.errno.isFileSpecific else { throw error.failure }
        }
        return false
    }
}

/// Removes what was left of a notification when the process was killed that accepted it, if a repeated
/// request cannot complete it any more: ``Spool/complete(_:in:)`` is for 24 hours.
func removeIfAbandoned(_ path: String) {
    guard path.utf8.suffix(10).elementsEqual(".jsonl.new".utf8) else { return }
    do throws(SystemError) {
        // The file system tells when it was written by the system's clock.
        guard let stamp = try Files.stamp(of: path),
            Timestamp.systemNow - Timestamp(seconds: stamp.seconds) > .hours(25)
        else { return }
        Files.remove(path)
    } catch {}  // it is looked at again
}

/// The id of the notification in a file of this name; `nil` for a file that is none of the spool's.
func idOfFile(_ name: String) -> String? {
    guard name.utf8.suffix(6).elementsEqual(".jsonl".utf8) else { return nil }
    return String(decoding: name.utf8.dropLast(6), as: UTF8.self)
}

import Crypto
import Turnstone
import Unix

/// A queue: the accepted notifications to devices of one push service that are not finished. Each is one
/// file, with a line for the notification and one for each device.
///
/// Files in `ready/` wait for the drainer, in lanes. Files in `waiting/` are not tried before a moment. Files
/// in `failed/` could not be read. A drainer leaves a file in its place until it is done with it.
package struct Spool {
    /// The state folder.
    let state: String
    package let queue: QueueName
    package let folder: String

    /// - Parameter state: the state folder.
    package init(state: String, _ queue: QueueName) {
        self.state = state
        self.queue = queue
        folder = "\(state)/spool/\(queue.text)"
    }

    /// The only queue of a push service.
    package init(state: String, _ service: PushService) {
        self.init(state: state, QueueName(service))
    }

    package var service: PushService { queue.service }

    /// Its folder's name in the state folder.
    package var name: String { "spool/\(queue.text)" }

    var waiting: String { "\(folder)/waiting" }

    func ready(_ lane: Lane) -> String { "\(folder)/ready/\(lane.rawValue)" }

    /// Gives the file of a notification, or of a part of one, its name, if an interrupted acceptance has not.
    ///
    /// - Parameter place: its folder in the spool, such as `ready/normal`.
    func complete(_ id: String, in place: String) throws(Failure) {
        try nameFile("\(folder)/\(place)/\(id).jsonl")
    }

    /// Removes the files of a notification that is in another queue now.
    func removeMoved(_ id: String) throws(Failure) {
        let (paths, closed) = try search(id)
        // Where it may still be, it would be sent again.
        if paths.isEmpty, let closed { throw closed.failure }
        for path in paths {
            guard Files.remove(path) else {
                throw Failure(
                    .later(seconds: 5),
                    "unable to remove \(path), which is in another queue now: check that deliver may write to this folder",
                    cause: "stuck", file: path)
            }
            do throws(SystemError) { try Files.synchronizeFolder(of: path) } catch {
                guard error.errno == .noEntry else { throw error.failure }
            }
        }
    }

    /// The folder of a file, below the queue's.
    func place(of path: String) -> String {
        let parent = Files.parent(of: path)
        return String(decoding: Array(parent.utf8.dropFirst(folder.utf8.count + 1)), as: UTF8.self)
    }

    /// Writes a file atomically and durably.
    func write(
        _ path: String, lines: (inout LineWriter) throws(Failure) -> Void
    ) throws(Failure) {
        let file = try openTemporary(for: path)
        do throws(Failure) {
            var writer = LineWriter(file)
            try lines(&writer)
            try writer.finish()
            try systemCalls(file.synchronize())
        } catch {
            Files.remove(Files.temporary(for: path))
            throw error
        }
        try systemCalls(Files.commit(path))
    }

    /// Opens the temporary file of a path, and makes its folder.
    func openTemporary(for path: String) throws(Failure) -> FileDescriptor {
        var attempts = 3
        while true {
            attempts -= 1
            do throws(SystemError) {
                try Files.makeFolder(Files.parent(of: path))
                return try Files.openTemporary(for: path)
            } catch {
                // The drainer removes empty folders, so one may vanish between being made and being used.
                guard error.errno == .noEntry, attempts > 0 else { throw error.failure }
            }
        }
    }

    /// The notification of this id, in whatever folder it is.
    @export(interface)
    package func find(_ id: String) throws(Failure) -> Notification? {
        // Look twice, because it may be put off meanwhile, into a folder that did not exist a moment ago.
        for _ in 0..<2 {
            if let path = try path(of: id), let found = try SpoolFile.open(path)?.notification {
                return found
            }
        }
        return nil
    }

    /// The path of the file of this id.
    func path(of id: String) throws(Failure) -> String? { try paths(of: id).first }

    func folders() throws(Failure) -> [String] {
        Lane.all.map { ready($0) } + (try waitingFolders()).map { "\(waiting)/\($0.name)" }
    }

    /// Whether a notification is in the spool, may be there or is just being accepted.
    func isOpen(_ id: String) throws(Failure) -> Bool {
        if try contains(id) { return true }
        for folder in try folders() {
            do throws(SystemError) {
                if try Files.exists("\(folder)/\(id).jsonl.new") { return true }
            } catch {
                guard error.errno.isFileSpecific else { throw error.failure }
            }
        }
        // It may have got its final name between the two checks.
        return try mayContain(id)
    }

    /// A notification that waits for another attempt; `nil` for any other, or if its file is damaged.
    package func putOff(
        _ id: String, at now: Timestamp
    ) throws(Failure) -> OpenNotification? {
        guard let path = try path(of: id), path.utf8.starts(with: waiting.utf8) else { return nil }
        return try openNotification(at: path, Progress(), now: now)
    }

    /// Whether a notification waits for another attempt to reach a device, and cannot have reached it yet.
    ///
    /// - Parameter ids: the ids of the device in receipts; `nil` for a notification to a channel.
    @export(interface)
    package func isMissed(_ id: String, by ids: [String]? = nil) throws(Failure) -> Bool {
        for path in try paths(of: id) where path.utf8.starts(with: waiting.utf8) {
            do throws(Failure) {
                guard let file = try SpoolFile.open(path) else { continue }
                while let delivery = try file.next() {
                    if let ids {
                        guard let device = delivery.device, ids.contains(device) else { continue }
                    }
                    return !delivery.isInDoubt
                }
            } catch {
                guard Damage.explains(error) else { throw error }
            }
        }
        return false
    }

    /// An unfinished notification, with its devices without an outcome according to its file and the
    /// receipts; `nil` if the file is gone or damaged.
    func openNotification(
        at path: String, _ progress: Progress, now: Timestamp
    ) throws(Failure) -> OpenNotification? {
        do throws(Failure) {
            guard let file = try SpoolFile.open(path) else { return nil }
            file.progress = progress
            var devices: [String] = []
            var isInDoubt = false
            while let delivery = try file.next() {
                if file.isInDoubt(delivery) { isInDoubt = true }
                devices += try file.deviceIDs(of: delivery)
            }
            let folder = WaitingFolder(name: Files.name(of: Files.parent(of: path)))
            return OpenNotification(
                notification: file.notification, devices: devices,
                until: folder?.due(at: now) ?? Timestamp(milliseconds: 0),
                isScheduled: folder != nil
                    && (folder?.since == nil || file.notification.delayed != nil),
                isInDoubt: isInDoubt)
        } catch {
            guard Damage.explains(error) else { throw error }
            return nil
        }
    }

    /// The names in a folder. A folder that cannot be listed counts as empty, so that the others can be used.
    func names(in folder: String) throws(Failure) -> [String] {
        do throws(SystemError) { return try Files.names(in: folder) } catch {
            try skip(error)
            return []
        }
    }

    /// The paths of the files of this id. There are two if a crash came after the new file was written and
    /// before the old one was removed.
    func paths(of id: String) throws(Failure) -> [String] { try search(id).paths }

    /// The same, and why a folder could not be entered, if there is one.
    func search(_ id: String) throws(Failure) -> (paths: [String], closed: SystemError?) {
        var folders = Lane.all.map { ready($0) }
        var paths: [String] = []
        var closed: SystemError?
        do throws(SystemError) {
            folders += try listWaiting().map { "\(waiting)/\($0.name)" }
        } catch {
            guard error.errno.isFileSpecific else { throw error.failure }
            closed = error
        }
        for folder in folders {
            let path = "\(folder)/\(id).jsonl"
            do throws(SystemError) { if try Files.exists(path) { paths.append(path) } } catch {
                guard error.errno.isFileSpecific else { throw error.failure }
                closed = SystemError(error.call, folder, error.errno)
            }
        }
        return (paths, closed)
    }

    /// Makes the removal of files durable.
    func synchronizeFolders() throws(Failure) {
        for folder in try folders() + [waiting] {
            do throws(SystemError) { try Files.synchronizeFolder(folder) } catch {
                guard error.errno == .noEntry else { throw error.failure }
            }
        }
    }

    /// The folders in `waiting/`, the earliest moment first.
    ///
    /// If `waiting/` cannot be listed, it counts as empty, so that the rest is delivered.
    func waitingFolders() throws(Failure) -> [WaitingFolder] {
        do throws(SystemError) {
            return try listWaiting()
        } catch {
            try skip(error)
            return []
        }
    }

    private func listWaiting() throws(SystemError) -> [WaitingFolder] {
        try Files.names(in: waiting).compactMap { WaitingFolder(name: $0) }
            .sorted { $0.until < $1.until }
    }

    /// Skips a folder that cannot be used, so that what is in the others is sent. `health` names it.
    func skip(_ error: SystemError) throws(Failure) {
        guard error.errno.isFileSpecific else { throw error.failure }
        UnusableFiles.record(error.path, error.errno.name)
    }

    /// Why one of the queue's folders is no folder: something else is in its place, or a link to nothing, such as
    /// a disk that is not mounted. `nil` if each is one, or simply missing.
    func misplacedFolder() throws(Failure) -> SystemError? {
        let places = try [folder, "\(folder)/ready", waiting] + folders()
        return try systemCalls { () throws(SystemError) in
            for place in places where try !Files.exists("\(place)/.") {
                if try Files.exists(place) { return SystemError("open", place, .notDirectory) }
                if Files.target(ofLink: place) != nil {
                    return SystemError("open", place, .noEntry)
                }
            }
            return nil
        }
    }

    /// Whether a drainer would find something to do: for programs that might start one.
    package func hasWork(at now: Timestamp) throws(Failure) -> Bool {
        if try hasReady() { return true }
        if try hasCancellations() { return true }
        return try nextDue(at: now).map { $0 <= now } ?? false
    }

    /// Whether a notification was accepted, or cancelled, that no drainer has seen. Throttled ones do not
    /// count: their next pushes may not leave yet.
    package func needsDrainerAtOnce() throws(Failure) -> Bool {
        if try hasReady(in: Lane.all.filter { $0 != .throttled }) { return try !isBeingDrained() }
        guard try hasCancellations() else { return false }
        return try !isBeingDrained()
    }

    /// Whether there is any notification that was not put off.
    package func hasReady() throws(Failure) -> Bool { try hasReady(in: Lane.all) }

    private func hasReady(in lanes: [Lane]) throws(Failure) -> Bool {
        for lane in lanes where try hasNotification(ready(lane)) { return true }
        return false
    }

    /// The earliest moment at which a waiting notification or a box is due.
    @export(interface)
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

    /// The first of the folders that has a notification. A program that was killed while it accepted one may
    /// have left a folder that is empty or has only half a file.
    private func first(among folders: [WaitingFolder]) throws(Failure) -> WaitingFolder? {
        for folder in folders where try hasNotification("\(waiting)/\(folder.name)") {
            return folder
        }
        return nil
    }

    /// Whether a folder has a notification in it. A folder that cannot be listed counts as empty.
    func hasNotification(_ folder: String) throws(Failure) -> Bool {
        let list = FolderList(folder)
        do throws(SystemError) {
            while let name = try list.next() { if idOfFile(name) != nil { return true } }
        } catch { try skip(error) }
        return false
    }
}

/// Removes a temporary file that a killed program left before it accepted the notification. A file of the
/// last 25 hours stays, because a repeated request may still complete it: ``Spool/complete(_:in:)`` is for 24
/// hours.
func removeIfAbandoned(_ path: String) {
    // The next listing finds it again if this fails.
    Files.removeLeftover(path, after: .hours(25))
}

/// The id of the notification in a file of this name; `nil` for other files.
func idOfFile(_ name: String) -> String? {
    guard name.utf8.suffix(6).elementsEqual(".jsonl".utf8) else { return nil }
    return String(decoding: name.utf8.dropLast(6), as: UTF8.self)
}

/// When a file or folder was last changed, in the programs' time: times of files are by the system's clock.
func changed(_ path: String, at now: Timestamp) throws(Failure) -> Timestamp? {
    let changed = try systemCalls(Files.changed(path))
    return changed.map { now - max(Timestamp.systemNow - $0, .seconds(0)) }
}

/// Gives a file its name if it has only the temporary one, and makes the name durable, whichever process has
/// given it.
func nameFile(_ path: String) throws(Failure) {
    let temporary = Files.temporary(for: path)
    do throws(SystemError) {
        if try Files.exists(temporary) { try Files.rename(temporary, path) }
    } catch {
        guard error.errno == .noEntry else { throw error.failure }
        // Another process has just done it, unless the file still has only the other name.
        let isLeft = try systemCalls { () throws(SystemError) in
            if try Files.exists(path) { return false }
            return try Files.exists(temporary)
        }
        if isLeft { throw error.failure }
    }
    do throws(SystemError) { try Files.synchronizeFolder(of: path) } catch {
        // The notification is finished, and its folder was removed.
        guard error.errno == .noEntry else { throw error.failure }
    }
}

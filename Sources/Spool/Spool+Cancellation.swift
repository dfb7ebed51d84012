import Turnstone
import Unix

// An empty file in `cancelled/` cancels the notification of that name. Only the holder of the election acts
// on it: nobody else changes an accepted notification, so that each device has one outcome.

extension Spool {
    private var cancelled: String { "\(folder)/cancelled" }

    func cancellationPath(of id: String) -> String { "\(cancelled)/\(id)" }

    /// The ids of the notifications to cancel.
    func cancelledIDs() throws(Failure) -> [String] {
        try systemCalls(Files.names(in: cancelled))
    }

    /// Whether a notification that is in the spool is cancelled: a program may have been killed after it said
    /// so.
    func hasCancellations() throws(Failure) -> Bool {
        for id in try usableCancelledIDs() where try contains(id) { return true }
        return false
    }

    /// Removes the files in `cancelled/` whose notifications are gone: a program was killed before it did
    /// that.
    func removeLeftCancellations() throws(Failure) {
        for id in try usableCancelledIDs() where try !mayGet(id) {
            Files.remove(cancellationPath(of: id))
        }
    }

    private func usableCancelledIDs() throws(Failure) -> [String] {
        do throws(Failure) { return try cancelledIDs() } catch {
            // The drainer reports it.
            guard error.isFileSpecific else { throw error }
            return []
        }
    }

    /// Tells the queue's drainer that a notification is cancelled.
    func markCancelled(_ id: String) throws(Failure) {
        try systemCalls { () throws(SystemError) in
            try Files.makeFolder(cancelled)
            _ = try FileDescriptor.open(cancellationPath(of: id), .append)
            try Files.synchronizeFolder(cancelled)
        }
    }

    /// Cancels a notification's deliveries that have not been sent, after ``markCancelled(_:)``. A push whose
    /// answer was lost counts as sent, because it may have arrived.
    ///
    /// If a drainer is running, waits up to 2 s for it to cancel them.
    ///
    /// - Parameter takeBack: see ``Spools/cancel(_:at:takeBack:)``.
    /// - Returns: whether the receipts say what became of it. If not, they soon will.
    @export(interface)
    package func cancel(
        _ id: String, at now: Timestamp,
        takeBack: @escaping TakeBackBadges
    ) throws(Failure) -> Bool {
        guard try contains(id) else {
            guard try !isInClosedFolder(id) else { return false }
            return try !isSetAside(id)
        }
        let start = Instant.now
        while Instant.now - start < .milliseconds(2000), try contains(id) {
            if let election = try election() {
                defer { election.end() }
                let intake = Intake(
                    spool: self, log: ReceiptLog(of: self, election), takeBack: takeBack)
                return try intake.cancel(id, at: now)
            }
            sleep(for: .milliseconds(10))
        }
        return try !mayContain(id)
    }

    /// Whether a notification that was not found may be in a folder that cannot be entered. `health` names
    /// that folder from now on.
    func isInClosedFolder(_ id: String) throws(Failure) -> Bool {
        var closed = try search(id).closed
        if closed == nil { closed = try misplacedFolder() }
        guard let closed else { return false }
        UnusableFiles.record(closed.path, closed.errno.name)
        return true
    }

    /// Whether a notification is in a folder of the spool that can be entered.
    package func contains(_ id: String) throws(Failure) -> Bool { try contains(id, orMay: false) }

    /// Whether a notification is in the spool, or may be there because a folder cannot be entered.
    func mayContain(_ id: String) throws(Failure) -> Bool { try contains(id, orMay: true) }

    /// It looks twice, because the notification may be put off meanwhile, into a folder that did not exist a
    /// moment ago.
    private func contains(_ id: String, orMay isEnough: Bool) throws(Failure) -> Bool {
        for _ in 0..<2 {
            let (paths, closed) = try search(id)
            if !paths.isEmpty || isEnough && closed != nil { return true }
        }
        guard isEnough else { return false }
        return try misplacedFolder() != nil
    }

    /// Whether a notification's damaged file is in `failed/`, from where it may come back.
    func isSetAside(_ id: String) throws(Failure) -> Bool {
        try systemCalls(hasInFailed("\(id).jsonl"))
    }

    /// Whether `failed/` has a file of this name, or a link to nothing.
    func hasInFailed(_ name: String) throws(SystemError) -> Bool {
        let path = "\(folder)/failed/\(name)"
        if Files.target(ofLink: path) != nil { return true }
        return try Files.exists(path)
    }

    /// Whether a notification may be in the spool, or may come back to it.
    func mayGet(_ id: String) throws(Failure) -> Bool {
        if try mayContain(id) { return true }
        return try isSetAside(id)
    }
}

extension Intake {
    /// Takes the notifications that were cancelled since the last call.
    ///
    /// - Returns: those that are in the spool and not in hand.
    @export(interface)
    package func takeCancelled() throws(Failure) -> [SpoolFile] {
        var names: [String] = []
        do throws(Failure) { names = try spool.cancelledIDs() } catch {
            guard error.isFileSpecific else { throw error }
            reportUnlisted(error)
        }
        guard !names.isEmpty || !cancelled.isEmpty else { return [] }
        cancelled = Set(names)
        var files: [SpoolFile] = []
        for id in names where held[id] == nil && stuck[id] == nil && !takenEarly.contains(id) {
            if let last = soughtInVain[id], Instant.now - last < .seconds(1) { continue }
            soughtInVain[id] = nil
            if let file = try take(id) {
                takenEarly.insert(id)
                files.append(file)
            } else if try spool.mayGet(id) {
                soughtInVain[id] = .now
            } else {
                removeCancellation(of: id)
            }
        }
        return files
    }

    /// Whether a push is cancelled. A push that may have arrived is not.
    package func isCancelled(_ delivery: Delivery, in file: SpoolFile) -> Bool {
        cancelled.contains(file.notification.id) && !file.isInDoubt(delivery)
    }

    /// Whether a notification's deliveries that have not been sent are cancelled.
    package func isCancelled(_ file: SpoolFile) -> Bool {
        cancelled.contains(file.notification.id)
    }

    func removeCancellation(of id: String) {
        guard cancelled.contains(id) else { return }
        Files.remove(spool.cancellationPath(of: id))
        cancelled.remove(id)
    }

    private func take(_ id: String) throws(Failure) -> SpoolFile? {
        for path in try spool.paths(of: id) {
            if let file = try take(Files.parent(of: path), Files.name(of: path)) { return file }
        }
        return nil
    }

    /// Cancels one notification as a drainer would.
    ///
    /// - Returns: `false` if it may be in a folder that cannot be entered, or come back from `failed/`, also because
    ///   it is found to be damaged now. The mark stays for the drainer that finds it.
    fileprivate func cancel(_ id: String, at now: Timestamp) throws(Failure) -> Bool {
        try recover(at: now)
        cancelled = [id]
        guard let file = try take(id) else {
            guard try !spool.mayGet(id) else { return false }
            removeCancellation(of: id)
            return true
        }
        var hasRemaining = false
        // Of earlier attempts, only the receipts know the users.
        let isFirstAttempt = file.pass == 1 && file.progress.start == nil
        var users: Set<UserID> = []
        while true {
            let next: Delivery?
            do throws(Failure) { next = try file.next() } catch {
                guard isDamage(error) else { throw error }
                try setAside(file, error, besides: users)
                log.close()
                return false
            }
            guard let delivery = next else { break }
            guard isCancelled(delivery, in: file) else {
                hasRemaining = true
                continue
            }
            if let user = file.user(of: delivery) { users.insert(user) }
            for alternate in try file.alternates(to: delivery) {
                if let user = alternate.user { users.insert(user) }
            }
            log.append(Attempt(at: now, pushID: nil, outcome: .cancelled), of: delivery, in: file)
            if log.pendingBytes >= 1 << 19 { try log.commit() }
        }
        try log.commit()
        // Before the receipts say that it is finished: afterwards nobody would do it.
        if let user = file.notification.user { users.insert(user) }
        if let change = file.notification.badge {
            try takeBack(id, change, users, isFirstAttempt || file.notification.user != nil)
        }
        if hasRemaining {
            leave(file)
        } else {
            finish(file, at: now)
            try log.commit()
        }
        log.close()
        return true
    }
}

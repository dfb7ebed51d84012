import Turnstone
import Unix

extension Intake {
    /// Reads from the receipts what earlier drainers did with the notifications that are still in the spool,
    /// and opens the receipts for appending.
    @export(interface)
    package func recover(at now: Timestamp) throws(Failure) {
        held = [:]
        recovered = [:]
        stuck = [:]
        lockedOut = [:]
        // Another drainer may have been at work since this one was last elected.
        forgetBacklog()
        self.now = now
        try repairs.read(at: now)
        let known = repairs.isClosed ? nil : try checkpoint.read()
        // Listed once, because the receipts may name very many finished notifications.
        var names: SpoolNames?
        try log.replay(from: known, report: report) { (id, event, position) throws(Failure) in
            var progress = recovered.removeValue(forKey: id) ?? Progress()
            progress.start = progress.start ?? position
            progress.add(event)
            if case .finished = event {
                if names == nil { names = try SpoolNames(spool) }
                if try names?.mayContain(id) == false { return }
            }
            recovered[id] = progress
        }
        for (id, progress) in recovered where progress.endedPass > 0 {
            try removeOutdated(id)
        }
        let day = try log.dayToContinue(at: now)
        // If the clock was wrong, receipts of still later days may name open notifications.
        let last = recovered.isEmpty ? day : max(day, try log.volumes().last?.day ?? day)
        try log.open(last)
        try log.freeReserved()
        if let known, last < known.day { try checkpoint.write(log.position) }
    }

    /// The progress of a notification that is taken. If it was set aside and is repaired, the receipts from before
    /// that count as well.
    func progress(of id: String) throws(Failure) -> Progress {
        let known = recovered.removeValue(forKey: id) ?? Progress()
        guard let start = repairs.start(of: id), !known.isOfRepair else { return known }
        var progress = Progress()
        progress.isOfRepair = true
        // The checkpoint need not go back to where its receipts begin: the next drainer asks for them as well.
        progress.start = known.start ?? log.position
        let isWhole = try log.forEachLine(of: id, from: start) { (line) in
            if let event = ReceiptLog.event(line) { progress.add(event) }
            return false
        }
        if !isWhole {
            report(
                Failure(
                    .broken,
                    "receipts of the repaired notification \(id) cannot be read; pushes that only they record may be sent again",
                    cause: FailureCause.unreadable))
        }
        // If it is damaged again, that is news.
        progress.isSetAside = false
        return progress
    }

    /// The same; `nil` if a file of receipts cannot be read now. That must not stop the others, so the notification is
    /// left to the next drainer.
    func progressIfReadable(of id: String) -> Progress? {
        do throws(Failure) { return try progress(of: id) } catch {
            stuck[id] = Progress()
            report(error)
            return nil
        }
    }

    /// Forgets where a repaired notification's receipts begin, once its file is durably gone.
    func forgetRepair(of id: String) {
        guard repairs.expects(id), stuck[id] == nil else { return }
        do throws(Failure) {
            try spool.synchronizeFolders()
            repairs.forget(id)
        } catch { report(error) }
    }

    /// Removes the older files of a notification. Two are left by a crash after the file for the next pass
    /// was written and before the previous one was removed.
    private func removeOutdated(_ id: String) throws(Failure) {
        var newest: SpoolFile?
        for path in try spool.paths(of: id) {
            let opened: SpoolFile?
            do throws(Failure) { opened = try SpoolFile.open(path) } catch {
                guard Damage.explains(error) else { throw error }
                continue  // it is set aside when it is taken
            }
            guard let file = opened else { continue }
            let older = (newest?.pass ?? 0) < file.pass ? newest : file
            if (newest?.pass ?? 0) < file.pass { newest = file }
            if let older { Files.remove(older.path) }
        }
    }

    /// Writes a checkpoint. The next drainer then reads the receipts from here on, or from the first line
    /// about any notification that is still in the spool.
    ///
    /// - Parameter distance: the bytes of receipts after which a new checkpoint is worth the work.
    @export(interface)
    package func writeCheckpoint(after distance: Int = 0) throws(Failure) {
        // Only durable receipts may be skipped, and none of a notification that may be repaired.
        guard log.pendingBytes == 0, !repairs.isClosed,
            checkpoint.isWorthwhile(log.position, distance)
        else { return }
        let misplaced = recovered.isEmpty ? nil : try spool.misplacedFolder()
        for id in Array(recovered.keys) where misplaced == nil {
            let (paths, closed) = try spool.search(id)
            // One of them may be there, and would begin anew.
            guard closed == nil else { break }
            if paths.isEmpty { recovered[id] = nil }
        }
        let starts =
            held.values.compactMap { $0.progress.start } + recovered.values.compactMap { $0.start }
            + stuck.values.compactMap { $0.start }
        let position = starts.min() ?? log.position
        guard checkpoint.isNew(position) else { return }
        // First make the removal of finished files durable. If a power cut brought one back, no receipt after
        // the checkpoint would say that it is finished.
        try spool.synchronizeFolders()
        try checkpoint.write(position)
    }
}

extension Progress {
    fileprivate mutating func add(_ event: ReceiptLog.Event) {
        switch event {
        case .sending(let numbers):
            unanswered.insert(numbers)
            isSetAside = false
        case .notSent(let number): unanswered.remove(number)
        case .attempt(let number, let outcome, let isLost):
            unanswered.remove(number)
            if isLost { doubtful.insert(number) }
            if let outcome { settle(number, outcome) }
        case .damaged: isSetAside = true
        case .putOff(let pass):
            endedPass = pass
            counts = [:]  // the next pass's file contains them
        case .finished: break
        }
    }
}

/// The ids of the notifications in the spool at the time of listing.
private struct SpoolNames {
    private var ids: Set<String> = []
    /// The folders that could not be listed. In these, an id is looked up by its file name.
    private var unlisted: [String] = []
    /// Whether one of them cannot be entered either: then any id may be there.
    private var isClosed = false

    init(_ spool: Spool) throws(Failure) {
        isClosed = try spool.misplacedFolder() != nil
        for folder in try spool.folders() {
            do throws(SystemError) {
                for name in try Files.names(in: folder) {
                    if let id = idOfFile(name) { ids.insert(id) }
                }
            } catch {
                guard error.errno.isFileSpecific else { throw error.failure }
                unlisted.append(folder)
            }
        }
    }

    /// Whether a notification is in the spool or may be.
    mutating func mayContain(_ id: String) throws(Failure) -> Bool {
        if isClosed || ids.contains(id) { return true }
        for folder in unlisted {
            do throws(SystemError) {
                if try Files.exists("\(folder)/\(id).jsonl") { return true }
            } catch {
                guard error.errno.isFileSpecific else { throw error.failure }
                isClosed = true
                return true
            }
        }
        return false
    }
}

import JSON
import Turnstone
import Unix

extension Intake {
    /// Reads in the receipts what earlier drainers have done with what is still in the spool, and goes on
    /// writing behind it.
    package func recover(at now: Timestamp) throws(Failure) {
        held = [:]
        recovered = [:]
        stuck = [:]
        self.now = now
        let known = try checkpoint.read()
        // Listed once: the receipts may tell of very many that are finished.
        var names: SpoolNames?
        try log.replay(from: known, report: report) { (id, event, position) throws(Failure) in
            var progress = recovered.removeValue(forKey: id) ?? Progress()
            progress.start = progress.start ?? position
            switch event {
            case .sending(let numbers):
                progress.unanswered.insert(numbers)
            case .notSent(let number): progress.unanswered.remove(number)
            case .attempt(let number, let outcome, let isLost):
                progress.unanswered.remove(number)
                if isLost { progress.doubtful.insert(number) }
                if let outcome { progress.settle(number, outcome) }
            case .damaged: progress.isSetAside = true
            case .putOff(let pass):
                progress.endedPass = pass
                progress.counts = [:]  // the next pass's file has them
            case .finished:
                if names == nil { names = try SpoolNames(spool) }
                if try names?.contains(id) == false { return }
            }
            recovered[id] = progress
        }
        for (id, progress) in recovered where progress.endedPass > 0 {
            try removeOutdated(id)
        }
        let day = try log.dayToContinue(at: now)
        // What is open may be told of in still later days' receipts, where the clock was wrong.
        let last = recovered.isEmpty ? day : max(day, try log.days().last ?? day)
        try log.open(last)
        if let known, last < known.day { try checkpoint.write(log.position) }
    }

    /// A crash after what is left was put off, and before the file that it came from was gone, leaves both.
    private func removeOutdated(_ id: String) throws(Failure) {
        var newest: SpoolFile?
        for path in try spool.paths(of: id) {
            let opened: SpoolFile?
            do throws(Failure) { opened = try SpoolFile.open(path) } catch {
                guard Damage.explains(error) else { throw error }
                continue  // whoever takes it sets it aside
            }
            guard let file = opened else { continue }
            let older = (newest?.pass ?? 0) < file.pass ? newest : file
            if (newest?.pass ?? 0) < file.pass { newest = file }
            if let older { Files.remove(older.path) }
        }
    }

    /// Lets the next drainer read the receipts from here on, or from the first line about anything that is
    /// still in the spool.
    ///
    /// - Parameter distance: how many bytes of receipts are worth it.
    package func writeCheckpoint(after distance: Int = 0) throws(Failure) {
        // Only what is durable may be left behind.
        guard log.pendingBytes == 0, checkpoint.isWorthwhile(log.position, distance) else { return }
        for id in Array(recovered.keys) where try spool.path(of: id) == nil { recovered[id] = nil }
        let starts =
            held.values.compactMap { $0.progress.start } + recovered.values.compactMap { $0.start }
            + stuck.values.compactMap { $0.start }
        let position = starts.min() ?? log.position
        guard checkpoint.isNew(position) else { return }
        // What is over must not come back after a power cut: nothing would say that it is over.
        try spool.synchronizeFolders()
        try checkpoint.write(position)
    }
}

/// The ids of the notifications in the spool, as they were when they were listed.
private struct SpoolNames {
    private let spool: Spool
    private var ids: Set<String> = []
    /// Whether a folder could not be listed: files in it may still be found by their names.
    private var isComplete = true

    init(_ spool: Spool) throws(Failure) {
        self.spool = spool
        for folder in try spool.folders() {
            do throws(SystemError) {
                for name in try Files.names(in: folder) {
                    if let id = idOfFile(name) { ids.insert(id) }
                }
            } catch {
                guard error.errno.isFileSpecific else { throw error.failure }
                isComplete = false
            }
        }
    }

    func contains(_ id: String) throws(Failure) -> Bool {
        if ids.contains(id) { return true }
        return try isComplete ? false : spool.path(of: id) != nil
    }
}

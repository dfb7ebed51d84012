import Turnstone
import Unix

/// The notifications that were accepted and have not all their outcomes: one file each.
///
/// `ready/` waits for the drainer, `active/` is in its hands, `waiting/` is not to be tried before a
/// moment, `failed/` nobody could read. A file is in one of them at a time.
package struct Spool {
    package let folder: String
    private let receipts: String

    /// - Parameter state: the state folder.
    package init(state: String) {
        folder = "\(state)/spool"
        receipts = "\(state)/receipts"
    }

    enum Stage: String {
        case ready
        case active
        case waiting
        case failed
    }

    private func path(_ stage: Stage, _ id: String) -> String {
        "\(folder)/\(stage.rawValue)/\(id).json"
    }

    /// Accepts a notification: when this returns, it will be delivered, whatever happens.
    ///
    /// Whoever calls holds what makes the id unique (a user's lock) and has asked ``find(_:)``.
    package func accept(_ notification: Notification) throws(Failure) {
        try write(notification, to: .ready)
    }

    /// The notification of this id, at whatever stage.
    package func find(_ id: String) throws(Failure) -> Notification? {
        // In the order in which files move on, and the first stage twice for those that move back.
        for stage in [Stage.ready, .active, .waiting, .failed, .active] {
            if let found = try read(path(stage, id)) { return found }
        }
        return nil
    }

    private func write(_ notification: Notification, to stage: Stage) throws(Failure) {
        let path = path(stage, notification.id)
        try systemCalls { () throws(SystemError) in
            try Files.makeFolder(Files.parent(of: path))
            try Files.replace(path, with: notification.text)
        }
    }

    private func read(_ path: String) throws(Failure) -> Notification? {
        let text = try systemCalls { () throws(SystemError) in try Files.contents(path) }
        return text.flatMap { Notification(text: $0) }
    }
}

// MARK: - The drainer's side: one process at a time, which holds `election()`.

extension Spool {
    /// The right to be the drainer, or `nil` where another process has it. Kept until it is let go.
    package func election() throws(Failure) -> FileDescriptor? {
        try systemCalls { () throws(SystemError) -> FileDescriptor? in
            try Files.makeFolder(folder)
            let file = try FileDescriptor.open("\(folder)/drainer.lock", .update)
            guard try file.tryLock() else { return nil }
            return file
        }
    }

    /// Takes over what a drainer that was ended has left, as it was.
    package func resume(at now: Timestamp) throws(Failure) -> [Notification] {
        try take(from: .active) { !Files.exists(receipt(of: $0)) }
    }

    /// Takes over what was accepted, up to `limit` notifications.
    package func claim(limit: Int) throws(Failure) -> [Notification] {
        try take(from: .ready, limit: limit) { _ in true }
    }

    /// Takes over what has waited long enough.
    package func claimDue(at now: Timestamp) throws(Failure) -> [Notification] {
        try take(from: .waiting) { ($0.notBefore ?? now) <= now }
    }

    /// Whether anything was accepted that nobody has taken over.
    package func hasReady() throws(Failure) -> Bool { try !names(.ready).isEmpty }

    /// Whether a drainer would find something to do: for programs that might start one.
    package func hasWork(at now: Timestamp) throws(Failure) -> Bool {
        if try hasReady() { return true }
        if try !names(.active).isEmpty { return true }
        return try nextDue().map { $0 <= now } ?? false
    }

    /// The earliest moment at which something that waits is to be tried.
    package func nextDue() throws(Failure) -> Timestamp? {
        var earliest: Timestamp?
        for name in try names(.waiting) {
            guard let waiting = try read(path(.waiting, name)) else { continue }
            let moment = waiting.notBefore ?? waiting.accepted
            earliest = min(earliest ?? moment, moment)
        }
        return earliest
    }

    private func take(
        from stage: Stage, limit: Int = .max, where isWanted: (Notification) -> Bool
    ) throws(Failure) -> [Notification] {
        var taken: [Notification] = []
        for name in try names(stage) {
            guard taken.count < limit else { break }
            guard let notification = try read(path(stage, name)), notification.id == name else {
                try setAside(stage, name)
                continue
            }
            guard isWanted(notification) else {
                // A receipt without its file's end: the system went down between the two.
                if stage == .active { Files.remove(path(stage, name)) }
                continue
            }
            if stage != .active { try move(name, from: stage, to: .active) }
            taken.append(notification)
        }
        return taken
    }

    private func names(_ stage: Stage) throws(Failure) -> [String] {
        let names = try systemCalls { () throws(SystemError) in
            try Files.names(in: "\(folder)/\(stage.rawValue)")
        }
        return names.compactMap { name in
            guard name.utf8.suffix(5).elementsEqual(".json".utf8) else { return nil }
            return String(decoding: name.utf8.dropLast(5), as: UTF8.self)
        }
    }

    /// A file that cannot be read is kept for its owner, out of the way.
    private func setAside(_ stage: Stage, _ name: String) throws(Failure) {
        guard Files.exists(path(stage, name)) else { return }
        try move(name, from: stage, to: .failed)
    }

    private func move(_ name: String, from: Stage, to: Stage) throws(Failure) {
        try systemCalls { () throws(SystemError) in
            try Files.makeFolder("\(folder)/\(to.rawValue)")
            try Files.rename(path(from, name), path(to, name))
        }
    }

    /// Puts a notification off until `moment`, with what its devices have said so far.
    package func postpone(_ notification: Notification, until moment: Timestamp) throws(Failure) {
        var later = notification
        later.notBefore = moment
        try write(later, to: .active)
        try systemCalls { () throws(SystemError) in
            try Files.makeFolder("\(folder)/waiting")
            try Files.rename(path(.active, later.id), path(.waiting, later.id))
            try Files.synchronizeFolder("\(folder)/waiting")
        }
    }

    /// Ends a notification: its receipt is on disk before its file goes.
    package func settle(_ notification: Notification, at now: Timestamp) throws(Failure) {
        let receipt = receipt(of: notification)
        try systemCalls { () throws(SystemError) in
            try Files.makeFolder(Files.parent(of: receipt))
            try Files.replace(receipt, with: notification.receipt(finished: now))
        }
        Files.remove(path(.active, notification.id))
    }

    private func receipt(of notification: Notification) -> String {
        "\(receipts)/\(CalendarDate(notification.accepted).dayText)/\(notification.id).json"
    }

    /// Removes the receipts of days that ended more than 30 days ago.
    package func removeOldReceipts(at now: Timestamp) throws(Failure) {
        let oldest = CalendarDate(now - .days(30)).dayText
        try systemCalls { () throws(SystemError) in
            for day in try Files.names(in: receipts) where day.utf8.count == 10 && day < oldest {
                try Files.removeFolder("\(receipts)/\(day)")
            }
        }
    }
}

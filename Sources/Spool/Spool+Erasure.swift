import JSON
import Turnstone
import Unix

// Only the holder of the election erases a user from the spool and the receipts, because nobody else may
// write there.

extension Spool {
    /// The findings of an erasure.
    package struct Erased {
        /// Pushes to the user that had no outcome.
        package fileprivate(set) var pushes = 0
        /// Lines of receipts that named the user.
        package fileprivate(set) var receipts = 0
        /// Damaged files that were the user's, and places in others.
        package fileprivate(set) var damaged = 0
        /// Files and folders that could not be read and may name the user.
        package fileprivate(set) var unreadable = 0
        /// Whether a notification that names the user is being accepted, or was begun within the last minute.
        /// It is not erased yet.
        package fileprivate(set) var isUnfinished = false
        /// The day whose receipts a drainer continues.
        fileprivate var openDay = ""

        /// Adds what was found in another queue.
        mutating func add(_ other: Erased) {
            pushes += other.pushes
            receipts += other.receipts
            damaged += other.damaged
            unreadable += other.unreadable
            isUnfinished = isUnfinished || other.isUnfinished
        }
    }

    /// The drainer that runs on this machine.
    func drainer() throws(Failure) -> OtherProcess? {
        guard let sign = try sign(), sign.isHere, !sign.hasEnded else { return nil }
        return sign.process.flatMap { OtherProcess($0, program: service.drainerProgram) }
    }

    /// A request to the drainer of the queue on another machine, which cannot get a signal.
    private var requestPath: String { "\(folder)/drainer.end" }

    /// Asks the drainer on another machine to end. It looks once a second.
    func askToEnd() throws(Failure) {
        guard let sign = try sign(), !sign.isHere, !sign.hasEnded else { return }
        try systemCalls { () throws(SystemError) in
            guard try Files.contents(requestPath) != sign.request else { return }
            try FileDescriptor.open(requestPath, .truncate).write(sign.request)
        }
    }

    /// Withdraws what ``askToEnd()`` has asked for: the queue has another drainer now.
    func withdrawRequest() { Files.remove(requestPath) }

    /// Whether another machine has asked the holder of the election to end.
    package func isAsked(_ election: Election) throws(Failure) -> Bool {
        try systemCalls(Files.contents(requestPath)) == election.request
    }

    /// Cancels everything that waits for the user. Removes the user from notifications that are for others as
    /// well, and from the receipts that a drainer may still write. The lines of receipts stay where they are.
    ///
    /// After a crash, call it again to finish.
    ///
    /// - Parameters:
    ///   - tokens: the user's that no other user may have, as far as they are known.
    ///   - opponents: players whose turn notices may name the user.
    ///   - takeBack: called for each notification of others that is found to be damaged.
    ///   - report: called for each file that could not be read. The user is erased from the others all the
    ///     same.
    func erase(
        _ user: UserID, tokens: [DeviceToken], opponents: [UserID], elected: Election,
        at now: Timestamp, takeBack: @escaping TakeBackBadges, report: @escaping (Failure) -> Void
    ) throws(Failure) -> Erased {
        let log = ReceiptLog(of: self, elected)
        let intake = Intake(spool: self, log: log, takeBack: takeBack, report: report)
        try intake.recover(at: now)
        let name = ErasedName(user, tokens)
        var erased = Erased()
        var unreadable = Skipped(report)
        // First, because if anything below fails, a repeated request does not know the tokens any more.
        let damaged = try eraseFailed(name, &unreadable)
        // A file that is renamed while its folder is listed can be missed. By the next round it has its final
        // name.
        for round in 0..<5 {
            let isFound = try eraseWaiting(
                of: name, opponents: round == 0 ? opponents : [], intake, &erased,
                &unreadable, at: now)
            guard isFound else { break }
        }
        try eraseHeld(of: name, now: now, &unreadable) { (file, delivery) in
            log.append(
                Attempt(at: now, pushID: nil, outcome: .cancelled),
                ofMessage: file.notification.id, delivery, in: file)
            erased.pushes += 1
        } commit: { () throws(Failure) in
            try log.commit()
        }
        let open = log.day
        try log.commit()
        log.close()
        try synchronizeFolders()
        erased.damaged = try damaged + eraseFailed(name, &unreadable)
        erased.receipts = try eraseReceipts(of: user, &unreadable) { $0 >= open }
        erased.openDay = open
        erased.unreadable = unreadable.count
        return erased
    }

    /// - Returns: whether something named the user and another round makes sense.
    private func eraseWaiting(
        of name: ErasedName, opponents: [UserID], _ intake: Intake, _ erased: inout Erased,
        _ unreadable: inout Skipped, at now: Timestamp
    ) throws(Failure) -> Bool {
        var isFound = false
        var unaccepted: [(folder: String, file: String)] = []
        var faults: [Failure] = []
        func erase(_ folder: String, _ file: String) throws(Failure) {
            do throws(Failure) {
                let (count, isUsers) = try intake.erase(name.user, folder, file, at: now)
                erased.pushes += count
                if isUsers { isFound = true }
            } catch {
                guard error.cause == FailureCause.faulty else { throw error }
                faults.append(error)
            }
        }
        // Damaged, the file of a release may name neither the user nor a device.
        let releases = Set(try releases(to: name.user).map { "\($0).jsonl" })
        for folder in try folders() {
            for file in try unreadable.names(in: folder) {
                let path = "\(folder)/\(file)"
                try unreadable.attempt { () throws(SystemError) in
                    try name.isNamed(inAccepted: path)
                } then: { (isNamed) throws(Failure) in
                    guard isNamed || releases.contains(file) else {
                        if idOfFile(file) == nil {
                            // It may get its final name meanwhile.
                            unaccepted.append((folder, file))
                        } else if !opponents.isEmpty {
                            try intake.eraseNames(in: folder, file, of: opponents)
                        }
                        return
                    }
                    if idOfFile(file) != nil {
                        try erase(folder, file)
                    } else if try isLeftover(path, at: .systemNow) {
                        let count = try systemCalls(eraseLines(of: name, in: path))
                        erased.pushes += count
                        if count > 0 { isFound = true }
                    } else {
                        isFound = true
                        unaccepted.append((folder, file))
                    }
                }
            }
        }
        erased.isUnfinished = false
        for (folder, file) in unaccepted {
            if try !isGone("\(folder)/\(file)", naming: name.text) { erased.isUnfinished = true }
            let accepted = String(decoding: file.utf8.dropLast(4), as: UTF8.self)
            let isNamed = try systemCalls(
                Files.contains(name.text, in: "\(folder)/\(accepted)", as: .string))
            guard isNamed else { continue }
            try erase(folder, accepted)
        }
        for fault in faults { unreadable.record(fault) }
        return isFound && !erased.isUnfinished
    }

    /// Erases the user from the receipts of earlier days. No drainer writes to them, so delivery may go on
    /// meanwhile.
    func eraseClosedReceipts(
        of user: UserID, after erased: inout Erased, report: @escaping (Failure) -> Void
    ) throws(Failure) {
        var unreadable = Skipped(report)
        let open = erased.openDay
        erased.receipts += try eraseReceipts(of: user, &unreadable) { $0 < open }
        erased.unreadable += unreadable.count
    }

    /// - Parameter isIncluded: returns whether to include the files of this day.
    private func eraseReceipts(
        of user: UserID, _ unreadable: inout Skipped, in isIncluded: (String) -> Bool
    ) throws(Failure) -> Int {
        // With its comma the whole member is replaced: blanks between members mean nothing.
        let member = Array("\"user\":".utf8) + receiptText(user.text)
        // Also files that were set aside, which have a longer name. A killed program may have written half a line.
        let rest = ".\(queue.text)."
        let forms: [([UInt8], Files.Occurrence)] = [
            (member + [UInt8(ascii: ",")], .any), (member.dropLast(), .end), (member, .end),
        ]
        let folder = ReceiptLog(of: self).folder
        let name = Array(receiptText(user.text).dropFirst().dropLast())
        var count = 0
        for file in try unreadable.names(in: folder)
        where file.utf8.dropFirst(10).starts(with: rest.utf8)
            && isIncluded(firstDigits(10, of: file))
        {
            let path = "\(folder)/\(file)"
            try unreadable.attempt { () throws(SystemError) in
                var found = 0
                for (bytes, occurrence) in forms {
                    found += try Files.overwrite(
                        bytes, with: UInt8(ascii: " "), in: path, as: occurrence)
                }
                return try found
                    + Files.overwrite(name, with: UInt8(ascii: "-"), in: path, as: .word) {
                        (file, place) throws(SystemError) in
                        try isInUnclearLine(place, of: file, naming: user)
                    }
            } then: { (found) in
                count += found
            }
        }
        return count
    }

    /// Whether a place in a file of receipts is in a line that is damaged: it is not JSON, or names the user by a
    /// member that receipts do not have.
    private func isInUnclearLine(
        _ place: Int, of file: FileDescriptor, naming user: UserID
    ) throws(SystemError) -> Bool {
        // The spool writes no longer line.
        let start = max(0, place - 4096)
        let bytes = try file.read(upTo: 8192, at: start)
        // One of its quotes may be what is damaged, but a number has none.
        let quote = UInt8(ascii: "\"")
        let length = receiptText(user.text).count - 2
        let before = bytes[..<(place - start)].last
        let after = bytes[(place - start)...].dropFirst(length).first
        let next = bytes[(place - start)...].dropFirst(length + 1).first
        guard before == quote || after == quote, next != UInt8(ascii: ":") else { return false }
        let end = UInt8(ascii: "\n")
        let lineStart = bytes[..<(place - start)].lastIndex(of: end).map { $0 + 1 } ?? 0
        let lineEnd = bytes[(place - start)...].firstIndex(of: end) ?? bytes.count
        guard let members = members(of: bytes[lineStart..<lineEnd]) else { return true }
        return members["user"] == nil
            && members.members.contains {
                $0.value.string == user.text && !receiptTexts.contains($0.name)
            }
    }

    /// Whether a file that was being written no longer has its temporary name. Waits up to 2 s.
    private func isGone(_ path: String, naming name: [UInt8]) throws(Failure) -> Bool {
        let start = Instant.now
        while true {
            let isThere = try systemCalls(Files.contains(name, in: path, as: .string))
            guard isThere else { return true }
            guard Instant.now - start < .milliseconds(2000) else { return false }
            sleep(for: .milliseconds(20))
        }
    }

    /// Whether a file that was never accepted is so old that no program can still be writing it.
    private func isLeftover(_ path: String, at now: Timestamp) throws(Failure) -> Bool {
        let stamp = try systemCalls(Files.stamp(of: path))
        guard let seconds = stamp?.seconds else { return false }
        return now - Timestamp(seconds: seconds) > .minutes(1)
    }

    /// Erases the user from damaged files. One that is for the user alone is removed; from the others, the lines of
    /// the user's devices are.
    ///
    /// - Returns: how many files and lines were the user's.
    private func eraseFailed(
        _ user: ErasedName, _ unreadable: inout Skipped
    ) throws(Failure) -> Int {
        let folder = "\(folder)/failed"
        var count = 0
        for name in try unreadable.names(in: folder) {
            try unreadable.attempt { () throws(SystemError) in
                try eraseLines(of: user, in: "\(folder)/\(name)")
            } then: {
                count += $0
            }
        }
        return count
    }

    /// Erases a user from a file that is not sent: it was never accepted, or it is damaged. One that is for the user
    /// alone is removed; from the others, the lines of the user's devices are. In a line that does not say whose it is, and
    /// in a file of more than 256 MiB, the id and the tokens are overwritten.
    ///
    /// - Returns: how many files, lines or places were the user's.
    func eraseLines(of name: ErasedName, in path: String) throws(SystemError) -> Int {
        guard try name.isNamed(in: path) else { return 0 }
        let bytes: [UInt8]?
        do throws(SystemError) { bytes = try Files.contents(path, limit: 1 << 28) } catch {
            guard error.errno == .tooLarge else { throw error }
            let hyphen = UInt8(ascii: "-")
            var count = try Files.overwrite(name.text, with: hyphen, in: path, as: .string)
            for token in name.tokens { count += try Files.overwrite(token, with: hyphen, in: path) }
            return count
        }
        guard let bytes else { return 0 }
        let lines = LinesOfOthers(bytes, besides: name)
        if lines.isNothing {
            try Files.erase(path)
        } else if lines.count > 0 {
            try Files.replace(path, with: lines.text)
        }
        return lines.count
    }
}

/// The members of receipts that have a text, besides `user`.
private let receiptTexts = [
    "id", "in", "kind", "device", "device_id", "channel", "apns_id", "reason", "language",
    "outcome",
]

extension Intake {
    /// Cancels a notification's pushes to a user, and removes the user from its file.
    ///
    /// - Returns: how many pushes had no outcome, and whether the file had any of the user's devices. It may also
    ///   name the user in what it says.
    /// - Throws: `faulty` if the file stays where it is and cannot be read.
    fileprivate func erase(
        _ user: UserID, _ folder: String, _ name: String, at now: Timestamp
    ) throws(Failure) -> (pushes: Int, isUsers: Bool) {
        guard let file = try take(folder, name) else {
            try checkRead("\(folder)/\(name)")
            return (0, false)
        }
        var count = 0
        var hasRemaining = false
        while true {
            let next: Delivery?
            do throws(Failure) { next = try file.next() } catch {
                guard isDamage(error) else { throw error }
                try setAside(file, error)
                try checkRead(file.path)
                return (count, count > 0)
            }
            guard let delivery = next else { break }
            // A device that the notification also goes to for another user stays in it.
            let isOthers = try file.alternates(to: delivery).contains { $0.user != user }
            guard file.user(of: delivery) == user, !isOthers else {
                hasRemaining = true
                continue
            }
            log.append(Attempt(at: now, pushID: nil, outcome: .cancelled), of: delivery, in: file)
            count += 1
            if log.pendingBytes >= 1 << 19 { try log.commit() }
        }
        try log.commit()
        guard hasRemaining else {
            finish(file, at: now)
            try log.commit()
            // A finished file that cannot be removed is nothing to a drainer. Here it names the user.
            _ = try systemCalls(Files.erase(file.path))
            return (count, true)
        }
        let isUsers = try spool.names(user, in: file)
        if isUsers { try spool.rewrite(file) { $0 != user } }
        leave(file)
        return (count, isUsers)
    }

    private func checkRead(_ path: String) throws(Failure) {
        guard let id = idOfFile(Files.name(of: path)) else { return }
        if recovered[id]?.isSetAside == true {
            throw Failure(
                .later(seconds: 5), "unable to set \(path) aside: a user's document is locked",
                cause: FailureCause.busy)
        }
        guard stuck[id] != nil else { return }
        throw Failure(
            .broken, "unable to erase a user from \(path): it cannot be read",
            cause: FailureCause.faulty, file: path)
    }
}

extension Intake {
    /// Removes the names of players and games from a turn notice. The notice is written again when it is
    /// sent, and has this shorter text only if no look at the games is left by then.
    fileprivate func eraseNames(
        in folder: String, _ name: String, of players: [UserID]
    ) throws(Failure) {
        guard let file = try take(folder, name) else { return }
        defer { leave(file) }
        var notification = file.notification
        guard notification.turns != nil, let user = notification.user, players.contains(user),
            notification.push.eraseNames()
        else { return }
        file.load(notification.push, expires: notification.expires)
        try spool.rewrite(file) { _ in true }
    }
}

extension Spool {
    /// Whether one of the devices in a notification's file is the user's.
    fileprivate func names(_ user: UserID, in file: SpoolFile) throws(Failure) -> Bool {
        guard let whole = try SpoolFile.open(file.path) else { return false }
        while let delivery = try whole.nextOfAll() {
            if whole.user(of: delivery) == user { return true }
        }
        return false
    }

    /// Rewrites a notification's file with the devices of some users only.
    fileprivate func rewrite(_ file: SpoolFile, for isKept: (UserID?) -> Bool) throws(Failure) {
        guard let whole = try SpoolFile.open(file.path) else { return }
        whole.load(file.notification.push, expires: file.notification.expires)
        var members = whole.notification.members
        if whole.pass > 1 { members["pass"] = .integer(Int64(whole.pass)) }
        members["reached"] = whole.wasReached ? true : nil
        members["outcomes"] = whole.outcomes
        try write(file.path) { (writer) throws(Failure) in
            try writer.begin(members)
            var written: Set<Int> = []
            while var delivery = try whole.nextOfAll() {
                guard isKept(whole.user(of: delivery)) else { continue }
                delivery.standForDevice(among: &written)
                try writer.append(delivery.members)
            }
        }
    }
}

extension Delivery {
    /// Makes the first delivery with each number stand for the device, and the others its alternates. The one
    /// that stood for it may have been removed.
    fileprivate mutating func standForDevice(among written: inout Set<Int>) {
        let isFirst = written.insert(number).inserted
        setAlternate(to: isFirst ? nil : number)
    }
}

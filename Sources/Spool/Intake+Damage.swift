import Turnstone
import Unix

// A file that cannot be read affects only its own notification. It is moved to `failed/`, its devices get the
// outcome `damaged`, and everything else is delivered.

extension Intake {
    /// Whether a failure means that one notification's file cannot be used.
    package func isDamage(_ failure: Failure) -> Bool { Damage.explains(failure) }

    /// Moves a file that cannot be read to `failed/`, where the operator can inspect it. If that fails, call it
    /// again.
    ///
    /// - Parameter users: users whom the message may not have reached. The receipts name the others.
    package func setAside(
        _ file: SpoolFile, _ failure: Failure, besides users: Set<UserID> = []
    ) throws(Failure) {
        let notification = file.notification
        var progress = file.progress
        defer { file.progress = progress }
        // Later passes' files do not have the devices of the earlier ones, but what is put back may.
        let isFirstPass = file.pass == 1
        try setAside(
            file.path, notification.id, &progress, mayBeLater: !isFirstPass, failure
        ) { () throws(Failure) in
            guard let change = notification.badge else { return }
            let user = notification.user
            try takeBack(notification.id, change, user.map { [$0] } ?? users, user != nil)
        }
        held[notification.id] = nil
        backlog?.remove(file)
    }

    /// The same for a file of which not even the first line can be read. While a document is locked from which it
    /// must be taken back, the file stays where it is and is found again.
    func setAsideUnknown(_ path: String, _ id: String, _ failure: Failure) throws(Failure) {
        guard var progress = progressIfReadable(of: id) else { return }
        // Files of later passes come from `waiting`, and a drainer may move them to other lanes.
        let isNew = [Lane.urgent, .normal].contains { spool.ready($0) == Files.parent(of: path) }
        do throws(Failure) {
            try setAside(path, id, &progress, mayBeLater: !isNew, failure) { () throws(Failure) in
                try takeBack(id, nil, [], false)
            }
        } catch {
            recovered[id] = progress
            guard error.cause == FailureCause.busy else { throw error }
            // To try it means to search receipts, and there may be many.
            lockedOut[id] = Instant.now + .seconds(2)
        }
    }

    /// Records in the receipts which devices get no push, and then moves the file to `failed/`.
    ///
    /// If the file cannot be moved, or may be readable later, this drainer skips it from then on.
    ///
    /// - Parameters:
    ///   - mayBeLater: whether this may not be the notification's first pass.
    ///   - takeBack: takes the message out of badges. If somebody repairs the file, it is counted again.
    func setAside(
        _ path: String, _ id: String, _ progress: inout Progress, mayBeLater: Bool,
        _ failure: Failure, takeBack: () throws(Failure) -> Void
    ) throws(Failure) {
        guard failure.cause != FailureCause.faulty else {
            stuck[id] = progress
            return report(failure)
        }
        if !progress.isSetAside {
            progress.isSetAside = true
            progress.start = progress.start ?? log.position
            log.append(damaged: id, reason: failure.cause, at: now)
            let known = progress
            var unnamed = known.unanswered
            forEachDelivery(ofDamaged: path) { (delivery) in
                guard !known.settled.contains(delivery.number) else { return }
                unnamed.remove(delivery.number)
                log.append(
                    damaged: id, number: delivery.number, delivery,
                    isInDoubt: known.isInDoubt(delivery), reason: failure.cause, at: now)
            }
            // A killed drainer was about to send to these, and nothing else says so of each.
            unnamed.forEach { (number) in
                log.append(
                    damaged: id, number: number, isInDoubt: true, reason: failure.cause, at: now)
            }
        }
        try log.commit()
        do throws(Failure) { try takeBack() } catch {
            // A document that nobody can read must not keep the notification for ever.
            guard error.disposition == .broken else { throw error }
            report(error)
        }
        let start = mayBeLater ? .beginning : progress.hasAttempts ? progress.start : nil
        var isRecorded = false
        var obstacle = "Where its receipts begin cannot be written to \(spool.name)/repairs"
        do throws(SystemError) {
            if let start { isRecorded = try repairs.expect(id, start, at: now) }
            obstacle = "It cannot be moved to \(spool.name)/failed either"
            try spool.moveToFailed(path, as: Files.name(of: path), now: now)
            report(
                Failure(
                    failure.disposition,
                    "\(failure.sentence). Moved to \(spool.name)/failed; its devices get no push. To deliver it, repair it and move it to \(spool.name)/ready/normal",
                    cause: failure.cause))
        } catch {
            // It is the same file that the next drainer finds.
            if isRecorded { repairs.forget(id) }
            stuck[id] = progress
            report(
                Failure(
                    .broken,
                    "\(failure.sentence). \(obstacle), so it is skipped: \(error.reason). Repair it in its place, or move it out of the spool",
                    cause: failure.cause, file: path))
        }
    }
}

extension Spool {
    /// Moves a file that cannot be used to `failed/`, where the operator can inspect it. It gets a new name
    /// if a file of the same name is there.
    func moveToFailed(_ path: String, as name: String, now: Timestamp) throws(SystemError) {
        let folder = "\(self.folder)/failed"
        var target = name
        var number = now.milliseconds
        while try hasInFailed(target) {
            target = "\(name).\(number)"
            number += 1
        }
        try Files.makeFolder(folder)
        // Once the file is repaired, it is moved there, perhaps with mv(1).
        do throws(SystemError) { try Files.makeFolder(ready(.normal)) } catch {}
        try Files.rename(path, "\(folder)/\(target)")
        try Files.synchronizeFolder(folder)
    }
}

/// Calls `body` with each device of a damaged notification whose line can still be read.
private func forEachDelivery(ofDamaged path: String, _ body: (Delivery) -> Void) {
    do throws(SystemError) {
        let file = try FileDescriptor.open(path, .read)
        var rest: [UInt8] = []
        while true {
            let more = try file.read(upTo: 65_536)
            if more.isEmpty { return }
            rest += more
            var start = 0
            while let end = rest[start...].firstIndex(of: UInt8(ascii: "\n")) {
                let delivery = members(of: rest[start..<end]).flatMap(Delivery.init)
                if let delivery, !delivery.isAlternate { body(delivery) }
                start = end + 1
            }
            rest.removeFirst(start)
            // The spool writes no line this long, and it may have no end.
            if rest.count > LineReader.longest { return }
        }
    } catch {}  // what cannot be read stays unknown
}

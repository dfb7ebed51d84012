import Turnstone
import Unix

/// The queues of all push services. Programs that accept notifications, or ask about them, use this. A
/// drainer has one ``Spool`` of its own.
package struct Spools {
    /// The state folder.
    let state: String
    package let folder: String
    /// How many queues each service has: `TURNSTONE_SHARDS`.
    package let shards: Int

    /// - Parameter state: the state folder.
    package init(state: String, shards: Int) {
        self.state = state
        self.shards = shards
        folder = "\(state)/spool"
    }

    package func spool(_ queue: QueueName) -> Spool { Spool(state: state, queue) }

    /// A service's queue, or the one of this number if it has several.
    package func spool(of service: PushService, _ number: Int = 1) -> Spool {
        spool(QueueName(service, number, of: shards))
    }

    /// A service's queues.
    package func spools(of service: PushService) -> [Spool] {
        (1...shards).map { spool(of: service, $0) }
    }

    /// Which of its service's queues a delivery goes to.
    func queueNumber(of delivery: Delivery, in notification: Notification) -> Int {
        (delivery.user ?? notification.user).map { QueueName.number(of: $0, among: shards) }
            ?? QueueName.number(of: delivery.aim, among: shards)
    }

    /// The queues that were ever used; always one of APNs. Those of another number of queues are among them.
    @export(interface)
    package func all() throws(Failure) -> [Spool] {
        let first = spool(of: .apns)
        var queues: [QueueName] = []
        let names: [String]
        do throws(SystemError) { names = try Files.names(in: folder) } catch {
            // `health` reports what is in the folder's place.
            guard error.errno == .notDirectory else { throw error.failure }
            names = []
        }
        for name in names {
            if let queue = QueueName(name), queue != first.queue { queues.append(queue) }
        }
        return [first]
            + queues.sorted { ($0.service.rawValue, $0.number) < ($1.service.rawValue, $1.number) }
            .map { spool($0) }
    }

    /// Whether a notification that is accepted now may replace one in a service's queues.
    package func mayReplace(
        _ series: Series, on service: PushService
    ) throws(Failure) -> Bool {
        for spool in try all() where spool.service == service {
            if try spool.mayReplace(series) { return true }
        }
        return false
    }

    /// The first result that is not `nil`.
    private func first<Result>(
        _ find: (Spool) throws(Failure) -> Result?
    ) throws(Failure) -> Result? {
        for spool in try all() {
            if let found = try find(spool) { return found }
        }
        return nil
    }

    /// The same for a notification's id. If no queue has it, its acceptance may have been interrupted.
    private func first<Result>(
        _ id: String, _ find: (Spool) throws(Failure) -> Result?
    ) throws(Failure) -> Result? {
        if let found = try first(find) { return found }
        guard try completeJoint(id) else { return nil }
        return try first(find)
    }

    /// The notification of this id, in whatever folder it is.
    package func find(_ id: String) throws(Failure) -> Notification? {
        try first(id) { (spool) throws(Failure) in try spool.find(id) }
    }

    /// Whether a notification is in a queue.
    package func contains(_ id: String) throws(Failure) -> Bool {
        try first(id) { (spool) throws(Failure) in try spool.contains(id) ? true : nil } ?? false
    }

    /// The queues that have a notification.
    package func spools(with id: String) throws(Failure) -> [Spool] {
        try all(with: id) { (spool) throws(Failure) in try spool.contains(id) }
    }

    /// The same, and the queues that may have it in a folder that cannot be entered, or get it back once somebody
    /// has repaired its file.
    func spools(thatMayGet id: String) throws(Failure) -> [Spool] {
        try all(with: id) { (spool) throws(Failure) in try spool.mayGet(id) }
    }

    /// Whether a notification is in a queue or may be, in a folder that cannot be entered.
    package func mayContain(_ id: String) throws(Failure) -> Bool {
        try !all(with: id) { (spool) throws(Failure) in try spool.mayContain(id) }.isEmpty
    }

    private func all(
        with id: String, where hasIt: (Spool) throws(Failure) -> Bool
    ) throws(Failure) -> [Spool] {
        for name in try joints() where name.utf8.starts(with: id.utf8) {
            _ = try completeJoint(name)
        }
        var found: [Spool] = []
        for spool in try all() where try hasIt(spool) { found.append(spool) }
        return found
    }

    /// The queues of other push services that have a part of a notification.
    package func queues(
        with id: String, besides service: PushService
    ) throws(Failure) -> [QueueName] {
        try spools(with: id).map { $0.queue }.filter { $0.service != service }
    }

    /// The push services in whose queues something of a user's may be.
    @export(interface)
    package func services(of user: UserID, among queues: [QueueName]) -> [PushService] {
        let number = QueueName.number(of: user, among: shards)
        // A queue that was made for another number of queues may have anything.
        return PushService.all.filter { service in
            queues.contains {
                $0.service == service && ($0.count != shards || $0.number == number)
            }
        }
    }

    /// Whether a notification waits for another attempt to reach a device, and cannot have reached it yet.
    ///
    /// - Parameter ids: the ids of the device in receipts.
    package func isMissed(_ id: String, by ids: [String]) throws(Failure) -> Bool {
        try first { (spool) throws(Failure) in try spool.isMissed(id, by: ids) ? true : nil }
            ?? false
    }

    /// Whether a drainer would find something to do: for programs that might start one.
    package func hasWork(at now: Timestamp) throws(Failure) -> Bool {
        if try !joints().isEmpty { return true }
        return try first { (spool) throws(Failure) in try spool.hasWork(at: now) ? true : nil }
            ?? false
    }

    /// Since when the oldest notification that could be sent now has waited: ``Spool/oldestDue(at:)``.
    @export(interface)
    package func oldestDue(at now: Timestamp) throws(Failure) -> Timestamp? {
        var oldest: Timestamp?
        for id in try joints() {
            if let since = try changed(joint(id), at: now) { oldest = min(oldest ?? since, since) }
        }
        for spool in try all() {
            if let due = try spool.oldestDue(at: now) { oldest = min(oldest ?? due, due) }
        }
        return oldest
    }

    /// Makes everything that is held for a user due, so that the drainers look at it again as soon as they
    /// can.
    ///
    /// - Parameter ids: the user's ids.
    /// - Returns: whether anything is held.
    package func lookAgain(at ids: [UserID], now: Timestamp) throws(Failure) -> Bool {
        var isAnything = false
        for spool in try all() {
            for id in ids where try spool.lookAgain(at: id, now: now) { isAnything = true }
        }
        return isAnything
    }

    /// A notification of which a part waits for another attempt, with the devices of all parts that have no
    /// outcome yet; `nil` for any other.
    @export(interface)
    package func putOff(
        _ id: String, at now: Timestamp
    ) throws(Failure) -> OpenNotification? {
        let found = try first { (spool) throws(Failure) in try spool.putOff(id, at: now) }
        guard var found else { return nil }
        for spool in try all() {
            guard let path = try spool.path(of: id),
                let part = try spool.openNotification(at: path, Progress(), now: now)
            else { continue }
            found.devices += part.devices.filter { !found.devices.contains($0) }
            if part.isInDoubt { found.isInDoubt = true }
        }
        return found
    }

    /// Whether a notification waits for its first attempt, or for another one.
    package func hasReadyOrPutOff() throws(Failure) -> Bool {
        if try !joints().isEmpty { return true }
        return try first { (spool) throws(Failure) in
            try spool.hasReadyOrPutOff() ? true : nil
        } ?? false
    }

    /// Whether any message is held.
    package func holdsAnything() throws(Failure) -> Bool {
        try first { (spool) throws(Failure) in try spool.holdsAnything() ? true : nil } ?? false
    }

    /// Those of some messages to a user that are in a queue, held or in a release: they may still be sent.
    ///
    /// - Parameter ids: the user's ids.
    @export(interface)
    package func open(
        among messages: [String], of ids: [UserID]
    ) throws(Failure) -> Set<String> {
        // Held messages are read twice: meanwhile a drainer may move them into a release, or out of one.
        var open = try held(for: ids)
        for spool in try all() {
            open.formUnion(try spool.beingReleased())
            for message in messages where !open.contains(message) {
                if try spool.contains(message) { open.insert(message) }
            }
        }
        return open.union(try held(for: ids)).intersection(messages)
    }

    private func held(for ids: [UserID]) throws(Failure) -> Set<String> {
        var held: Set<String> = []
        for spool in try all() {
            for id in ids { held.formUnion(try spool.messagesHeld(for: id)) }
        }
        return held
    }

    /// Removes what a crash or a race of two programs has left, a part of it with each call.
    ///
    /// - Parameter report: called with the failure of each notification whose acceptance was interrupted and
    ///   cannot be completed. Nothing is removed then.
    package func sweep(at now: Timestamp, report: (Failure) -> Void) throws(Failure) {
        completeJoints(report: report)
        guard try joints().isEmpty else { return }
        for spool in try all() { try spool.sweep(at: now) }
    }
}

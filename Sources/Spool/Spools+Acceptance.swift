import JSON
import Turnstone
import Unix

// A notification for devices of several push services has a file in the queue of each. All of them are
// written under their temporary names. Then the rename of `joint/<id>.json`, which names their folders,
// accepts the notification, and any process that finds that file, this one or another one after a crash,
// gives the parts their names and removes it.

extension Spools {
    /// Accepts a notification: once this returns, it will be delivered to each of the devices, even after a
    /// crash.
    ///
    /// The caller holds the lock that makes the id unique (a user's) and has called ``find(_:)``. Devices
    /// that are known to be good should come first.
    ///
    /// - Parameters:
    ///   - moment: the moment before which it is not sent.
    ///   - erasures: the value of ``erasures()`` before the users' documents were read, if their locks are
    ///     not held.
    /// - Throws: later, if a user was erased meanwhile.
    package func accept(
        _ notification: Notification, to devices: some Sequence<Delivery>,
        notBefore moment: Spool.Moment? = nil, since erasures: Int64? = nil
    ) throws(Failure) {
        var source = ListedDeliveries(rest: devices.makeIterator())
        var prepared = try prepare(
            notification, to: &source, notBefore: moment, since: erasures)
        try prepared.accept()
    }

    /// Writes a notification that ``PreparedNotification/accept()`` accepts later.
    ///
    /// Its devices are written one by one as the source returns them. If a service has more than
    /// ``Lane/most`` of them, its part is bulk.
    ///
    /// - Parameters: see ``accept(_:to:notBefore:since:)``.
    package func prepare(
        _ notification: Notification, to source: inout some DeliverySource,
        notBefore moment: Spool.Moment? = nil, since erasures: Int64? = nil
    ) throws(Failure) -> PreparedNotification {
        var notification = notification
        if let series = notification.series {
            var marks: [SeriesMark] = []
            for spool in try all() { marks += try spool.marks(of: series) }
            notification.series = series.following(marks)
        }
        var parts: [PartWriter] = []
        do throws(Failure) {
            let count = try write(notification, to: &source, notBefore: moment, into: &parts)
            // An erasure that begins after this finds what is written by now.
            if let erasures { try checkNoErasure(since: erasures) }
            for part in parts { try part.synchronize() }
            return try prepared(notification.id, parts, devices: count)
        } catch {
            for part in parts { part.abandon() }
            throw error
        }
    }

    /// - Returns: the number of devices.
    private func write(
        _ notification: Notification, to source: inout some DeliverySource,
        notBefore moment: Spool.Moment?, into parts: inout [PartWriter]
    ) throws(Failure) -> Int {
        var count = 0
        func part(_ spool: Spool) -> PartWriter {
            if let part = parts.first(where: { $0.spool.queue == spool.queue }) { return part }
            let part = PartWriter(notification, notBefore: moment, in: spool)
            parts.append(part)
            return part
        }
        // By the deliveries' numbers, where each goes: alternates go where the one goes that they belong to.
        var queues: [UInt8] = []
        while var delivery = try source.next() {
            // An alternate has the number of the delivery that it belongs to.
            if !delivery.isAlternate {
                delivery.number = count
                count += 1
            }
            guard shards > 1 else {
                try part(spool(of: delivery.service)).append(delivery)
                continue
            }
            if !delivery.isAlternate {
                queues.append(UInt8(queueNumber(of: delivery, in: notification)))
            }
            let number = Int(queues[delivery.number])
            try part(spool(of: delivery.service, number)).append(delivery)
        }
        if parts.isEmpty { _ = part(spool(of: .apns)) }
        for part in parts { try part.finish() }
        return count
    }

    private func prepared(
        _ id: String, _ parts: [PartWriter], devices count: Int
    ) throws(Failure) -> PreparedNotification {
        let paths = parts.compactMap { $0.path }
        guard paths.count > 1 else {
            return PreparedNotification(
                spools: self, id: id, path: paths[0], folder: inside(Files.parent(of: paths[0])),
                devices: count)
        }
        let path = joint(id)
        let places = paths.map { inside(Files.parent(of: $0)) }
        let text = line(["version": 1, "places": JSONValue(texts: places)])
        try systemCalls(Files.makeFolder(Files.parent(of: path)))
        try Files.prepare(path) { (file) throws(Failure) in
            try systemCalls(file.write(text))
        }
        return PreparedNotification(
            spools: self, id: id, path: path, parts: paths, folder: Self.joint, devices: count)
    }

    /// A path below the folder of all queues.
    private func inside(_ path: String) -> String {
        String(decoding: Array(path.utf8.dropFirst(folder.utf8.count + 1)), as: UTF8.self)
    }

    private static let joint = "joint"

    func joint(_ id: String) -> String { "\(folder)/\(Self.joint)/\(id).json" }

    /// Accepts a notification whose acceptance was interrupted after ``PreparedNotification/makeFindable()``.
    ///
    /// - Parameter place: its ``PreparedNotification/folder``. Earlier versions had one queue, that of APNs.
    @export(interface)
    package func complete(_ id: String, in place: String) throws(Failure) {
        if place == Self.joint {
            try nameFile(joint(id))
            _ = try completeJoint(id)
            return
        }
        let parts = place.utf8.split(separator: UInt8(ascii: "/"), maxSplits: 1)
            .map { String(decoding: Array($0), as: UTF8.self) }
        if let queue = QueueName(parts[0]), parts.count == 2 {
            return try spool(queue).complete(id, in: parts[1])
        }
        guard ["ready", "waiting"].contains(parts[0]) else {
            throw Failure(
                .broken,
                "unable to complete the notification \(id): \(place) is no place of this version; install a newer Turnstone",
                cause: FailureCause.newer)
        }
        // The earlier version may have been killed after the migration had begun.
        try nameFile("\(folder)/\(place)/\(id).jsonl")
        try Spool(state: state, .apns).complete(id, in: place)
    }

    /// Accepts a notification in the queues that it was written for, instead of those that it was in.
    ///
    /// - Parameter name: its id, `.` and its service.
    func acceptMoved(
        _ name: String, at paths: [String], from queues: [QueueName]
    ) throws(Failure) {
        let path = joint(name)
        let text = line([
            "version": 1, "places": JSONValue(texts: paths.map { inside(Files.parent(of: $0)) }),
            "from": JSONValue(texts: queues.map { $0.text }),
        ])
        try systemCalls(Files.makeFolder(Files.parent(of: path)))
        try Files.prepare(path) { (file) throws(Failure) in try systemCalls(file.write(text)) }
        try systemCalls { () throws(SystemError) in
            // Nothing may name parts that a power cut removes.
            for path in paths + [path] { try Files.synchronizeFolder(of: path) }
            try Files.commit(path)
        }
        _ = try completeJoint(name)
    }

    /// Gives the parts of an accepted notification their names. If it was moved, removes it from its former
    /// queues.
    ///
    /// - Parameter name: its id; if it was moved, also `.` and its service.
    /// - Returns: whether there was anything to do.
    /// - Throws: if the file that names them, or a part, cannot be used.
    func completeJoint(_ name: String) throws(Failure) -> Bool {
        let path = joint(name)
        let id =
            name.utf8.split(separator: UInt8(ascii: "."), maxSplits: 1).first
            .map { String(decoding: Array($0), as: UTF8.self) } ?? name
        let bytes: [UInt8]?
        do throws(SystemError) { bytes = try Files.contents(path) } catch {
            throw Damage.failure(error)
        }
        guard let bytes else { return false }
        // Before anything that follows from its name.
        try systemCalls(Files.synchronizeFolder(of: path))
        let members = members(of: bytes[...])
        let former = (members?["from"]?.texts ?? []).compactMap { QueueName($0) }
        // Where it was, and which parts have their names already, is not known without it.
        if former.isEmpty, id != name { throw corrupt(path) }
        // Its name alone accepts them, so a damaged file does too.
        var places = members?["places"]?.texts ?? []
        if places.isEmpty { places = try unnamedParts(of: id) }
        // One queue that cannot be used holds up no other.
        var failure: Failure?
        for place in places {
            do throws(Failure) { try complete(id, in: place) } catch { failure = failure ?? error }
        }
        if let failure { throw failure }
        for queue in former { try spool(queue).removeMoved(id) }
        Files.remove(path)
        return true
    }

    /// The folders of a notification's parts that have no name yet.
    private func unnamedParts(of id: String) throws(Failure) -> [String] {
        var places: [String] = []
        for spool in try all() {
            for folder in try spool.folders() {
                let part = Files.temporary(for: "\(folder)/\(id).jsonl")
                if try systemCalls(Files.exists(part)) { places.append(inside(folder)) }
            }
        }
        return places
    }

    /// The ids of the accepted notifications whose parts may not have their names yet.
    func joints() throws(Failure) -> [String] {
        try jointNames().compactMap { name in
            name.utf8.suffix(5).elementsEqual(".json".utf8)
                ? String(decoding: name.utf8.dropLast(5), as: UTF8.self) : nil
        }
    }

    private func jointNames() throws(Failure) -> [String] {
        try systemCalls(Files.names(in: "\(folder)/\(Self.joint)"))
    }

    /// Completes all notifications whose acceptance was interrupted.
    ///
    /// - Parameter report: called with the failure of each that cannot be completed. The others are.
    package func completeJoints(report: (Failure) -> Void) {
        do throws(Failure) {
            for id in try joints() {
                do throws(Failure) { _ = try completeJoint(id) } catch { report(error) }
            }
            for name in try jointNames() { removeIfAbandoned("\(folder)/\(Self.joint)/\(name)") }
        } catch { report(error) }
    }
}

/// A list of deliveries as a source.
struct ListedDeliveries<Rest: IteratorProtocol<Delivery>>: DeliverySource {
    var rest: Rest

    mutating func next() throws(Failure) -> Delivery? { rest.next() }
}

import Crypto
import JSON
import Turnstone
import Unix

/// A notification's file while a drainer works through it. It returns the devices one after the other,
/// without those that have an outcome.
///
/// In one pass, each remaining device is tried once. Devices that then have no outcome are written to a new
/// file, which waits for the next pass. A small file is read at once, a large one piece by piece.
package final class SpoolFile {
    package private(set) var notification: Notification
    /// Which pass this is, from 1.
    package let pass: Int
    /// Whether a device was reached in an earlier pass.
    let wasReached: Bool
    let path: String
    /// The number of devices that ``next()`` has returned.
    package private(set) var count = 0
    /// Whether ``next()`` has returned all devices.
    package private(set) var isExhausted = false
    /// Which devices have their outcome, and where the receipts about it begin.
    var progress = Progress()
    /// The number of devices with each outcome in earlier passes.
    private let earlier: [Outcome: Int]
    /// The lane of its content when it was opened. The number of devices is not known then, so a file that was
    /// not read at once counts as bulk.
    package let lane: Lane
    /// By number, once they were needed: few phones have several users.
    private var alternates: [Int: [Delivery]]?
    private var lines: LineReader
    /// Whether the file's last line says how many lines there are.
    private let hasLast: Bool
    /// The numbers of the devices that were read.
    private var numbers = NumberSet()
    /// How many lines were read, and how many there are, as the last of these says.
    private var lineCount: (read: Int, said: Int?)

    /// - Returns: `nil` if there is no such file.
    /// - Throws: `corrupt` if its first line is not a notification, `newer` if a newer program wrote it,
    ///   `unreadable` if it cannot be opened.
    static func open(_ path: String) throws(Failure) -> SpoolFile? {
        let lines: LineReader
        do throws(SystemError) { lines = try LineReader(path) } catch {
            guard error.errno == .noEntry else { throw Damage.failure(error) }
            return nil
        }
        return try SpoolFile(path, lines)
    }

    private init(_ path: String, _ lines: LineReader) throws(Failure) {
        self.path = path
        self.lines = lines
        guard let line = try self.lines.next(), let members = members(of: line) else {
            throw corrupt(path)
        }
        if let version = members["version"]?.integer, version > Notification.version {
            throw Failure(
                .broken,
                "unable to use \(path): its version \(version) is newer than this program's \(Notification.version); install a newer Turnstone",
                cause: FailureCause.newer, file: path)
        }
        guard let notification = Notification(members) else { throw corrupt(path) }
        self.notification = notification
        hasLast = LastLine.isAnnounced(in: members)
        lineCount = (1, LastLine.count(in: line))
        lane = notification.lane(devices: lines.isWhole ? 1 : .max)
        pass = Int(members["pass"]?.count ?? 1)
        wasReached = members["reached"]?.bool ?? false
        var earlier: [Outcome: Int] = [:]
        for member in members["outcomes"]?.object?.members ?? [] {
            guard let outcome = Outcome(rawValue: member.name) else { continue }
            earlier[outcome] = member.value.count.map { Int($0) }
        }
        self.earlier = earlier
    }

    /// Returns the next device without an outcome; `nil` at the end.
    ///
    /// - Throws: `corrupt` if a line is not a device, or lines are missing.
    @export(interface)
    package func next() throws(Failure) -> Delivery? {
        while let delivery = try nextOfAll() {
            guard !delivery.isAlternate else { continue }
            count += 1
            return delivery
        }
        isExhausted = true
        return nil
    }

    /// Returns the next device without an outcome, or the next alternate to such a device; `nil` at the end.
    func nextOfAll() throws(Failure) -> Delivery? {
        while let line = try lines.next() {
            guard let delivery = readDelivery(line) else { throw corrupt(path) }
            // The count at the end would show that a line is there twice, but by then it may have been sent twice.
            guard delivery.isAlternate || numbers.insert(delivery.number) else {
                throw corrupt(path)
            }
            if hasLast { lineCount = (lineCount.read + 1, LastLine.count(in: line)) }
            if !progress.settled.contains(delivery.number) { return delivery }
        }
        guard !hasLast || lineCount.read == lineCount.said else { throw corrupt(path) }
        return nil
    }

    /// The deliveries to the same device for other users of the notification.
    package func alternates(to delivery: Delivery) throws(Failure) -> [Delivery] {
        // Those of a notification for one user name no other.
        guard notification.user == nil else { return [] }
        if alternates == nil { alternates = try readAlternates() }
        return alternates?[delivery.number] ?? []
    }

    /// The ids in receipts by which a delivery's device may be named: that of its user, and those of the other
    /// users to whom it may go instead.
    package func deviceIDs(of delivery: Delivery) throws(Failure) -> [String] {
        guard let first = delivery.device else { return [] }
        var ids = [first]
        for alternate in try alternates(to: delivery) {
            if let id = alternate.device, !ids.contains(id) { ids.append(id) }
        }
        return ids
    }

    /// The devices of ``deviceIDs(of:)``, for each of the users.
    func userDevices(of delivery: Delivery) throws(Failure) -> [UserDevice] {
        try ([delivery] + alternates(to: delivery)).compactMap { delivery in
            delivery.device.map { UserDevice(delivery.user ?? notification.user, $0) }
        }
    }

    private func readAlternates() throws(Failure) -> [Int: [Delivery]] {
        var alternates: [Int: [Delivery]] = [:]
        // Reading the lines would take ten times as long.
        let isNamed = try systemCalls(Files.contains(Array("\"also\"".utf8), in: path))
        guard isNamed else { return [:] }
        try forEachReadable { (delivery) in
            if delivery.isAlternate { alternates[delivery.number, default: []].append(delivery) }
        }
        return alternates
    }

    /// The other remaining deliveries to devices with this token.
    @export(interface)
    package func others(
        than delivery: Delivery, for token: DeviceToken
    ) throws(Failure) -> [Delivery] {
        let name = Array("\"device\":".utf8) + JSON.text(.string(token.text))
        let isNamed = try systemCalls(Files.contains(name, in: path))
        guard isNamed else { return [] }
        var others: [Delivery] = []
        try forEachReadable { (other) in
            if other.token == token, other.number != delivery.number { others.append(other) }
        }
        return others
    }

    /// Calls `body` with each delivery in the file whose line can be read, also behind a damaged one. Whoever
    /// reads the devices one after the other finds the damage.
    private func forEachReadable(_ body: (Delivery) -> Void) throws(Failure) {
        guard let whole = try SpoolFile.open(path) else { return }
        do throws(Failure) {
            while let line = try whole.lines.next() {
                if let delivery = readDelivery(line) { body(delivery) }
            }
        } catch {
            guard error.cause == FailureCause.corrupt else { throw error }
        }
    }

    /// Replaces the content by what is to be sent now.
    package func load(_ push: PushContent, expires: Timestamp) {
        notification.push = push
        notification.expires = expires
    }

    /// The user of the delivery's device.
    package func user(of delivery: Delivery) -> UserID? { delivery.user ?? notification.user }

    /// The recipient that takes turns with others when a delivery is sent.
    package func recipient(of delivery: Delivery) -> Recipient {
        user(of: delivery).map { .user($0) } ?? .aim(delivery.aim)
    }

    /// All recipients of a small notification.
    package func recipients() throws(Failure) -> [Recipient] {
        if let user = notification.user { return [.user(user)] }
        guard let whole = try SpoolFile.open(path) else { return [] }
        var recipients: [Recipient] = []
        while let delivery = try whole.next() { recipients.append(recipient(of: delivery)) }
        return recipients
    }

    /// Whether a push to the device may have arrived although no answer says so.
    package func isInDoubt(_ delivery: Delivery) -> Bool {
        progress.isInDoubt(delivery)
    }

    /// The number of devices with this outcome, in all passes.
    package func count(_ outcome: Outcome) -> Int {
        (earlier[outcome] ?? 0) + (progress.counts[outcome] ?? 0)
    }

    /// The number of devices with each outcome in all passes, as the next pass's file stores it.
    var outcomes: JSONValue? {
        var outcomes = JSONObject()
        for outcome in Outcome.all where count(outcome) > 0 {
            outcomes[outcome.rawValue] = .integer(Int64(count(outcome)))
        }
        return outcomes.members.isEmpty ? nil : .object(outcomes)
    }

    /// Whether a device was reached in this pass.
    package var isReachedInPass: Bool { progress.isReached }

    /// Whether a device was reached, in this pass or an earlier one.
    package var isReached: Bool { wasReached || progress.isReached }
}

func corrupt(_ path: String) -> Failure {
    Failure(
        .broken, "unable to read \(path): it is damaged", cause: FailureCause.corrupt, file: path)
}

import Crypto
import Turnstone

/// The fate of a message.
package struct NotificationTrace {
    /// Its deliveries, by their numbers.
    package internal(set) var deliveries: [DeliveryTrace] = []
    /// How many of these have an outcome, and were not only damaged: another may follow then.
    var endedCount = 0
    /// Whether the receipts say that every device has its outcome.
    package internal(set) var isFinished = false
    /// Whether its file is still in the spool.
    var isInSpool = false
    /// Deliveries of the held message to devices that are not among `deliveries`, in the order of their first
    /// receipts.
    package internal(set) var released: [DeliveryTrace] = []
    var releasedPlaces: [String: Int] = [:]
    /// By device and user, the numbers of the held deliveries.
    var heldPlaces: [String: Int] = [:]
    /// Whether the rest is being cancelled.
    package internal(set) var isCancelled = false
    /// Whether a file of it that is in a queue cannot be read.
    var isUnreadable = false
    /// Whether its file cannot be read.
    package internal(set) var isDamaged = false
    /// Whether a file of it could not be read once, whatever became of others.
    var wasDamaged = false
    /// Whether receipts that cannot be read may tell of devices that are missing here.
    package internal(set) var lacksReceipts = false
    /// Whether there are receipts that cannot be read, which may say what is missing here.
    var isUnread = false

    /// The trace of a message to no device.
    package static let withoutDevices = NotificationTrace(isFinished: true)

    /// Removes devices without an outcome if the message is in no queue: their receipts were deleted.
    package mutating func dropUnknownDevices() {
        guard !isInSpool, !isDamaged else { return }
        let count = deliveries.count
        deliveries.removeAll { $0.outcome == nil }
        isForgotten = count > 0 && deliveries.isEmpty && released.isEmpty
    }

    /// Whether nothing is known about any of its devices any more.
    package private(set) var isForgotten = false
}

extension NotificationTrace {
    /// Whether no more receipts can come. If the clock was set back by days, the last line may be in an
    /// earlier day's receipts than others.
    var isComplete: Bool {
        isFinished && endedCount == deliveries.count
    }

    /// Whether its end is missing, or the outcome of a device that is in no file.
    var isMissing: Bool {
        let isWithoutEnd = !isFinished && !isDamaged || deliveries.contains { $0.outcome == nil }
        return isWithoutEnd && (!isInSpool || lacksDevices)
    }

    private mutating func add(_ line: JSONObject, of number: Int) {
        let hadEnded = deliveries[number].hasEnded
        deliveries[number].add(line)
        if deliveries[number].hasEnded != hadEnded { endedCount += hadEnded ? -1 : 1 }
    }

    /// The names of the boxes that the receipts say it is in.
    var heldBoxes: Set<String> { Set(deliveries.compactMap { $0.box }) }

    /// Records that releases that are not over bring it to the devices of these boxes.
    mutating func didRelease(_ boxes: Set<String>) {
        if boxes.isEmpty { return }
        for number in deliveries.indices {
            deliveries[number].isBeingReleased = deliveries[number].box.map(boxes.contains) ?? false
        }
    }

    /// Settles what was held and is in no box any more. After the erasure of its user, that is cancelled.
    ///
    /// - Parameters:
    ///   - boxes: the boxes from which it is gone.
    ///   - outcome: that of what is gone.
    mutating func settleHeld(goneFrom boxes: Set<String>, as outcome: Outcome) {
        for number in deliveries.indices
        where deliveries[number].outcome == .held && deliveries[number].user == nil {
            deliveries[number].outcome = .cancelled
        }
        if boxes.isEmpty { return }
        for number in deliveries.indices where deliveries[number].box.map(boxes.contains) ?? false {
            deliveries[number].outcome = outcome
        }
    }

    /// Clears ``isDamaged`` if every device has its outcome, or waits for it in a file that can be read.
    mutating func forgetDamageIfRepaired() {
        if isUnreadable { return }
        if deliveries.allSatisfy({ $0.hasEnded || $0.isWaiting }) { isDamaged = false }
    }

    /// Settles the deliveries that have no outcome and are in no file that can be read.
    mutating func settleLostAsDamaged() {
        for number in deliveries.indices where deliveries[number].isLost {
            deliveries[number].outcome = .damaged
        }
    }

    /// Takes what receipts tell of releases for the deliveries of which nothing else is known: the receipts that say
    /// which of them were held cannot be read.
    mutating func nameReleased() {
        var named = 0
        for number in deliveries.indices where named < released.count {
            let delivery = deliveries[number]
            guard delivery.isLost, !delivery.isKnown else { continue }
            deliveries[number] = released[named]
            named += 1
        }
        released.removeFirst(named)
    }

    /// Adds held parts of which the receipts do not say that they were held, because they are lost.
    mutating func add(_ parts: [HeldMessage]) {
        var numbers = deliveries.indices.filter { deliveries[$0].isLost }[...]
        for part in parts {
            guard let device = part.delivery.device, let user = part.notification.user?.text else {
                continue
            }
            let name = Self.name(of: device, user)
            guard heldPlaces[name] == nil, let number = numbers.popFirst() else { continue }
            deliveries[number].device = device
            deliveries[number].user = user
            deliveries[number].outcome = .held
            endedCount += 1
            addHeld(number, name)
        }
    }

    /// Whether a device has no outcome, and is in no file that can be read.
    var lacksDevices: Bool { deliveries.contains { $0.isLost } }

    mutating func add(_ delivery: Delivery, user: UserID?) {
        guard deliveries.indices.contains(delivery.number) else { return }
        deliveries[delivery.number].isWaiting = true
        deliveries[delivery.number].device =
            delivery.device ?? ""
        deliveries[delivery.number].user = user?.text
    }

    mutating func add(_ line: JSONObject) {
        if line["finished_at"] != nil { isFinished = true }
        // If the file was repaired and put back, more lines follow the one about the damage.
        let isOfDamage = line["outcome"]?.string == Outcome.damaged.rawValue
        // With `in`, it is about what was held for one device, not about the notification's own file.
        if line["in"] != nil { return addReleased(line) }
        if isOfDamage { wasDamaged = true }
        if isOfDamage || line["status"] != nil || isFinished { isDamaged = isOfDamage }
        guard let number = line["n"]?.integer.flatMap(Int.init(exactly:)),
            deliveries.indices.contains(number), line["at"] != nil
        else { return }
        add(line, of: number)
        if deliveries[number].outcome == .held { addHeld(number, name(of: line)) }
    }

    /// Remembers a held delivery. If the clock was set back by days in between, the receipts of its release
    /// may have been read before.
    private mutating func addHeld(_ number: Int, _ name: String) {
        heldPlaces[name] = number
        guard let place = releasedPlaces.removeValue(forKey: name) else { return }
        deliveries[number].goOn(as: released.remove(at: place))
        for (name, other) in releasedPlaces where other > place { releasedPlaces[name] = other - 1 }
    }

    private func name(of line: JSONObject) -> String {
        Self.name(of: line["device_id"]?.string ?? "", line["user"]?.string ?? "")
    }

    private static func name(of device: String, _ user: String) -> String { "\(device) \(user)" }

    private mutating func addReleased(_ line: JSONObject) {
        guard line["device_id"] != nil else { return addMissing(line) }
        let name = name(of: line)
        if let number = heldPlaces[name] { return add(line, of: number) }
        let place = releasedPlaces[name] ?? released.count
        if place == released.count {
            released.append(DeliveryTrace())
            releasedPlaces[name] = place
        }
        released[place].add(line)
    }

    /// Adds devices that the user had when the message was held, but no longer had when it was released.
    private mutating func addMissing(_ line: JSONObject) {
        let name = " \(line["user"]?.string ?? "") \(line["in"]?.string ?? "")"
        guard let count = line["devices"]?.integer, (1...10_000).contains(count),
            releasedPlaces[name] == nil
        else { return }
        releasedPlaces[name] = released.count
        for _ in 0..<count {
            released.append(DeliveryTrace())
            released[released.count - 1].add(line)
        }
    }
}

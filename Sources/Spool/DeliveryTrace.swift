import Turnstone

/// The state of a notification's delivery to one device.
package struct DeliveryTrace: Equatable, Sendable {
    /// The device's id in receipts, such as ``DeviceToken/publicID``; empty if nothing is known.
    package internal(set) var device = ""
    package internal(set) var user: String?
    /// How often a push was sent.
    package internal(set) var attempts: Int64 = 0
    /// The time of the last receipt. `status` and `reason` are from the same receipt.
    package internal(set) var last: Timestamp?
    package internal(set) var status: Int64?
    package internal(set) var reason: String?
    /// The language of the last push's text, if the message has texts in several.
    package internal(set) var language: String?
    /// How the delivery ended; `nil` if it has not ended.
    package internal(set) var outcome: Outcome?
    /// Whether the push may have arrived although the outcome is not `accepted`, because an attempt got no
    /// answer.
    package internal(set) var isInDoubt = false
    /// Whether it is held, and a push that brings it is being sent or waits for another attempt, so that it may be
    /// too late to cancel it.
    package internal(set) var isBeingReleased = false
    /// Whether it is in a file that can be read, whatever became of other parts.
    var isWaiting = false

    /// Whether it has no outcome, and is in no file that can be read.
    var isLost: Bool { outcome == nil && !isWaiting }

    /// Whether it has an outcome other than `damaged`, after which another may follow.
    var hasEnded: Bool { outcome != nil && outcome != .damaged }

    /// The name of the box in which it is held.
    var box: String? {
        guard outcome == .held, let user = user.flatMap(UserID.init) else { return nil }
        return HeldBox(of: user, device).name
    }

    /// Whether a receipt or the notification's file names the device.
    package var isKnown: Bool { !device.isEmpty }
}

extension DeliveryTrace {
    mutating func add(_ line: JSONObject) {
        device = line["device_id"]?.string ?? device
        user = line["user"]?.string ?? user
        let isSent = line["apns_id"] != nil
        if isSent { attempts += 1 }
        // The receipts of a queue that had the notification before may be read after those of its end.
        // Nothing is damaged after its end.
        let isLater = line["outcome"] == nil || line["outcome"]?.string == Outcome.damaged.rawValue
        if let outcome, outcome != .held, outcome != .damaged, isLater { return }
        last = line["at"]?.timestamp
        status = line["status"]?.integer
        reason = line["reason"]?.string
        language = line["language"]?.string ?? language
        outcome = line["outcome"]?.string.flatMap(Outcome.init) ?? outcome
        if line["outcome"] != nil || !isInDoubt { isInDoubt = Receipt.leavesDoubt(line) }
    }

    /// Adds what the receipts say of its release.
    mutating func goOn(as released: DeliveryTrace) {
        last = released.last
        status = released.status
        reason = released.reason
        language = released.language ?? language
        outcome = released.outcome ?? outcome
        isInDoubt = released.isInDoubt
        attempts += released.attempts
    }
}

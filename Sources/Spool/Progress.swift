import Turnstone

/// The progress of a notification, according to the receipts.
struct Progress {
    var settled = NumberSet()
    /// Devices to which an earlier drainer was about to send, with no answer in the receipts.
    var unanswered = NumberSet()
    /// Devices for which an attempt in this pass got no answer.
    var doubtful = NumberSet()
    /// Devices that have failed in this pass. Receipts do not record this, so after a crash they count as not
    /// tried.
    private var failed: [FailureKind: NumberSet] = [:]
    /// Whether the push service accepted it for any device.
    var isReached = false
    /// The position of its first receipt.
    var start: ReceiptLog.Position?
    /// The number of the last finished pass.
    var endedPass = 0
    /// The number of devices with each outcome in this pass.
    var counts: [Outcome: Int] = [:]
    /// Whether the receipts say that its file could not be read.
    var isSetAside = false
    /// Whether it was set aside and is repaired, and this is what all of its receipts say.
    var isOfRepair = false

    /// Whether a push to the device may have arrived although no answer says so.
    func isInDoubt(_ delivery: Delivery) -> Bool {
        delivery.isInDoubt || unanswered.contains(delivery.number)
            || doubtful.contains(delivery.number)
    }

    /// Whether a push was sent to any device, or may have been, or a device has its outcome.
    var hasAttempts: Bool { settled.count + unanswered.count + doubtful.count > 0 }

    mutating func fail(_ number: Int, _ kind: FailureKind) {
        failed[kind, default: NumberSet()].insert(number)
    }

    /// How a device failed in this pass; `nil` if it has not failed.
    func kind(of number: Int) -> FailureKind? { failed.first { $0.value.contains(number) }?.key }

    mutating func settle(_ number: Int, _ outcome: Outcome) {
        settled.insert(number)
        counts[outcome, default: 0] += 1
        if outcome == .accepted { isReached = true }
    }
}

import Turnstone

/// One line of the receipts about a user: what became of a notification on one device, or that an attempt
/// failed and is repeated.
package struct Receipt: Equatable, Sendable {
    /// The notification's id.
    package let id: String
    /// For a message that was held: the id of the notification that brought it.
    package let release: String?
    package let service: PushService
    /// The kind of the notification: `turn`, `badge`, `turn_badge`, `activity`, `release`, or a message's
    /// kind. `nil` in the receipts of earlier versions, and for a message that was held.
    package let kind: String?
    /// The device's id, of a message.
    package let device: String?
    /// How the device's token begins, which is for comparisons only: ``DeviceToken/start``.
    package let tokenStart: String?
    package let at: Timestamp
    /// The number of the device among the notification's; `nil` in receipts of a release's messages.
    package let number: Int64?
    /// The answer of the push service; `nil` if none came, or none was needed.
    package let status: Int64?
    package let reason: String?
    /// `nil` if the attempt failed and is repeated, or if the notification waits.
    package let outcome: Outcome?
    /// Whether the push may have arrived although the outcome is another one, or is not known yet.
    package let isInDoubt: Bool
    /// How long the accepted push took since it could be sent. `nil` in the receipts of earlier versions.
    package let delay: Interval?
    /// The same for a turn notice, since the newest move that it was queued for.
    package let delaySinceMove: Interval?
}

extension Receipt {
    /// Whether a line of the receipts about an attempt says that the push may have arrived although it was not
    /// accepted: no answer came, or none to an earlier attempt. Once in doubt, always in doubt: a later answer does
    /// not tell what became of an earlier attempt.
    static func leavesDoubt(_ line: JSONObject) -> Bool {
        if line["in_doubt"]?.bool == true { return true }
        guard line["outcome"] == nil else { return false }
        // Earlier versions say in_doubt only with an outcome.
        return line["repeat"] != nil || line["apns_id"] != nil && line["status"] == nil
    }

    /// - Returns: `nil` for a line that says nothing about a device.
    init?(_ line: JSONObject, of service: PushService) {
        guard let id = line["id"]?.string, let at = line["at"]?.timestamp,
            line["finished_at"] == nil
        else { return nil }
        let outcome = line["outcome"]?.string
        self.id = id
        self.at = at
        self.service = service
        self.outcome = outcome.flatMap(Outcome.init)
        // An outcome of a later version.
        guard outcome == nil || self.outcome != nil else { return nil }
        release = line["in"]?.string
        kind = line["kind"]?.string
        device = line["device_id"]?.string
        tokenStart = line["device"]?.string
        number = line["n"]?.integer
        status = line["status"]?.integer
        reason = line["reason"]?.string
        isInDoubt = Self.leavesDoubt(line)
        delay = line["delay"]?.count.map { .milliseconds($0) }
        delaySinceMove = line["since_move"]?.count.map { .milliseconds($0) }
    }
}

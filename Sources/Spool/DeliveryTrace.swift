import Crypto
import Turnstone
import Unix

/// What became of a notification's way to one device, as far as it is known.
package struct DeliveryTrace: Equatable, Sendable {
    /// As ``DeviceToken/publicID``.
    package internal(set) var device = ""
    package internal(set) var user: String?
    /// How often a push service was asked.
    package internal(set) var attempts: Int64 = 0
    /// The last answer, or why there was none.
    package internal(set) var last: Timestamp?
    package internal(set) var status: Int64?
    package internal(set) var reason: String?
    /// `nil` where it has not ended.
    package internal(set) var outcome: Outcome?
    /// Whether it has ended otherwise than accepted, after an attempt that got no answer.
    package internal(set) var isInDoubt = false

    /// Whether anything is known of it.
    package var isKnown: Bool { !device.isEmpty }
}

extension DeliveryTrace {
    mutating func add(_ line: JSONObject) {
        device = line["device_id"]?.string ?? device
        user = line["user"]?.string ?? user
        last = line["at"]?.timestamp
        status = line["status"]?.integer
        reason = line["reason"]?.string
        outcome = line["outcome"]?.string.flatMap(Outcome.init) ?? outcome
        isInDoubt = line["in_doubt"]?.bool ?? false
        if line["apns_id"] != nil { attempts += 1 }
    }
}

import Turnstone

/// How soon a device should be woken for a message (RFC 8030 section 5.3).
package enum Urgency: String, Sendable {
    case veryLow = "very-low"
    case low
    case normal
    case high

    /// Takes the interruption level of the alert, or the priority if it has none.
    init(_ content: PushContent) {
        switch content.payload.aps["interruption-level"]?.string {
        case "time-sensitive", "critical": self = .high
        case "active": self = .normal
        case "passive": self = .low
        default:
            switch content.priority {
            case ...1: self = .veryLow
            case ...5: self = .low
            default: self = .normal
            }
        }
    }
}

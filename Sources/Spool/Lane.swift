import Turnstone

/// How soon a notification is delivered. All notifications in one lane are sent before those in the next.
package enum Lane: String, Sendable {
    /// Time-sensitive and critical alerts, and the end of a Live Activity.
    case urgent
    /// Everything else, to at most ``most`` devices.
    case normal
    /// Notifications whose recipients have many others in hand. A drainer moves them here, so that other
    /// users' are sent first.
    case backlog
    /// Notifications to more than ``most`` devices. They would hold up the others.
    case bulk
    /// Notifications of which only so many pushes may leave in a minute.
    case throttled

    static let all = [Lane.urgent, .normal, .backlog, .bulk, .throttled]

    /// Whether a notification's devices are read one by one, because there may be very many.
    package var isStreamed: Bool { self == .bulk || self == .throttled }

    /// The most devices of a notification that is not bulk.
    package static let most = 100
}

extension Notification {
    /// The notification's lane if it is for this many devices.
    package func lane(devices: Int) -> Lane {
        if throttle != nil { return .throttled }
        if devices > Lane.most { return .bulk }
        let isEnd = push.type == .liveActivity && push.payload.aps["event"]?.string == "end"
        return isEnd || push.payload.isUrgent ? .urgent : .normal
    }
}

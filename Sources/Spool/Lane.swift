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

    static let all = [Lane.urgent, .normal, .backlog, .bulk]

    /// The most devices of a notification that is not bulk.
    package static let most = 100
}

extension Notification {
    /// The notification's lane if it is for this many devices.
    package func lane(devices: Int) -> Lane {
        if devices > Lane.most { return .bulk }
        let isEnd = push.type == .liveActivity && push.payload.aps["event"]?.string == "end"
        return isEnd || push.payload.isUrgent ? .urgent : .normal
    }
}

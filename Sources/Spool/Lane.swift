import Turnstone

/// How soon a notification is to be delivered: all of one lane's go before any of the next one's.
package enum Lane: String, Sendable {
    /// Time-sensitive and critical alerts, and the end of a Live Activity.
    case urgent
    /// All else, to a few devices.
    case normal
    /// Notifications that a drainer moved here because their recipients have many in hand. Others' go first.
    case backlog
    /// To more devices than ``most``: it would hold up the others.
    case bulk

    static let all = [Lane.urgent, .normal, .backlog, .bulk]

    /// The most devices of a notification that is not bulk.
    package static let most = 100
}

extension Notification {
    /// The lane that it takes.
    package func lane(devices: Int) -> Lane {
        if devices > Lane.most { return .bulk }
        let isEnd = push.type == .liveActivity && push.payload.aps["event"]?.string == "end"
        return isEnd || push.payload.isUrgent ? .urgent : .normal
    }
}

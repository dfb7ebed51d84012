import Gateways
import HTTP2
import Turnstone

/// One of a sender's connections.
final class FCMLink {
    let connection: ClientConnection
    let opened: Instant
    var window: SendingWindow
    /// Whether FCM has answered on it.
    var hasAnswer = false
    /// The size of the last body in bytes, as an estimate for the next ones.
    var lastSize = 400

    init(_ connection: ClientConnection, opened: Instant, isProven: Bool) {
        self.connection = connection
        self.opened = opened
        window = SendingWindow(isProven: isProven)
    }

    var isOpen: Bool { connection.state == .open }

    /// Whether it is not known yet how many requests it takes.
    var isConnecting: Bool {
        connection.state == .connecting || isOpen && connection.maximumStreams == 0
    }

    /// Whether it takes no more requests and only answers those that it has, which may take long.
    var isEnding: Bool { connection.state == .ending }

    /// The number of requests that it may take now: as many as there are streams, and as the server's window
    /// has room for. The first request may be larger than the window.
    var room: Int {
        guard isOpen, connection.maximumStreams > 0 else { return 0 }
        let streams = window.size(server: connection.maximumStreams) - connection.openRequests
        let bodies = connection.credit / lastSize
        return max(0, min(streams, connection.openRequests == 0 ? max(1, bodies) : bodies))
    }
}

import Gateways
import HTTP2

/// One of a sender's connections.
final class FCMLink {
    let connection: ClientConnection
    var window: SendingWindow
    /// Whether FCM has answered on it.
    var hasAnswer = false

    init(_ connection: ClientConnection, isProven: Bool) {
        self.connection = connection
        window = SendingWindow(isProven: isProven)
    }

    var isOpen: Bool { connection.state == .open }

    /// Whether it is not known yet how many requests it takes.
    var isConnecting: Bool {
        connection.state == .connecting || isOpen && connection.maximumStreams == 0
    }

    /// Whether it takes no more requests and only answers those that it has, which may take long.
    var isEnding: Bool { connection.state == .ending }

    /// The number of requests that it may take now.
    var room: Int {
        guard isOpen, connection.maximumStreams > 0 else { return 0 }
        return window.size(server: connection.maximumStreams) - connection.openRequests
    }
}

import HTTP2Server
import Turnstone

/// The ports of APNs: one for pushes, the other one for broadcast channels.
struct APNsPorts {
    let address: String
    let management: String
    /// The indexes of the ports among the server's.
    let listener: Int
    let managementListener: Int

    /// Listens on both.
    init(on server: Server, options: Simulator) throws(Failure) {
        // A new connection gets one stream until it has sent a valid provider token.
        var limits = ServerLimits()
        limits.streams = 1
        limits.requestBody = 8192
        listener = server.listenerCount
        let port = try server.listen(port: options.apnsPort, limits)
        address = "https://127.0.0.1:\(port)"
        managementListener = server.listenerCount
        let managementPort = try server.listen(port: options.managementPort, ServerLimits())
        management = "https://127.0.0.1:\(managementPort)"
    }
}

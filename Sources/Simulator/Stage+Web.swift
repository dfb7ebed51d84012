import HTTP2Server
import Turnstone

extension Stage {
    /// - Returns: `nil` if this is not one of Web Push's commands.
    func performForWeb(_ name: String, _ command: JSONObject) throws(Failure) -> JSONObject? {
        let isForWeb = try command.text("service") == "web"
        guard
            isForWeb
                || ["web-subscription", "web-gone", "web-fault", "web-deaf"].contains(name)
        else { return nil }
        guard let web else { throw badCommand("start the simulator with --services apns,web") }
        switch name {
        case "web-subscription":
            let browser = try web.subscribe(serverKey: try command.text("key"))
            return [
                "id": .string(browser.id), "subscription": browser.subscription(origin: web.origin),
            ]
        case "web-gone":
            let id = try command.required("id", command.text("id"))
            guard let browser = web.browsers[id] else { throw badCommand("unknown browser \(id)") }
            browser.goneStatus = Int(clamping: try command.number("status") ?? 410)
            return [:]
        case "web-fault":
            web.faults.append(try GatewayFault(command))
            return [:]
        case "web-deaf":
            web.isDeaf = true
            return [:]
        case "tls-fault":
            try failHandshakes(command, listener: web.listener)
            return [:]
        case "goaway":
            web.connections.plannedGoAway = try plannedGoAway(command)
            return [:]
        default: return nil
        }
    }

    /// Lets Web Push begin on a port of its own.
    static func webService(on server: Server, options: Simulator) throws(Failure) -> WebService? {
        guard options.services.contains(.web) else { return nil }
        let listener = server.listenerCount
        var limits = ServerLimits()
        limits.requestBody = 8192
        let port = try server.listen(port: options.webPort, limits)
        return WebService(origin: "https://127.0.0.1:\(port)", listener: listener)
    }

    /// The lines of `simulator.env` that let Turnstone push here.
    var webEnvironment: [String] {
        guard let web else { return [] }
        let host = web.origin.dropFirst("https://".count)
        return [
            "VAPID_SUBJECT=mailto:push@example.org", "WEBPUSH_HOSTS=\(host)",
            "WEBPUSH_PRIVATE_HOSTS=\(host)", "WEBPUSH_CA_FILE=\(workshop.authority)",
        ]
    }
}

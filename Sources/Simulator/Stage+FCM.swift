import HTTP2Server
import JSON
import Turnstone

extension Stage {
    private static let namesForFCM = [
        "fcm-token", "fcm-fault", "fcm-answers", "oauth", "oauth-fault",
    ]

    /// - Returns: `nil` if this is not one of FCM's commands.
    func performForFCM(_ name: String, _ command: JSONObject) throws(Failure) -> JSONObject? {
        let isForFCM = try command.text("service") == "fcm"
        guard isForFCM || Self.namesForFCM.contains(name) else {
            return nil
        }
        guard let fcm else { throw badCommand("start the simulator with --services apns,fcm") }
        switch name {
        case "fcm-token": try mark(command, fcm)
        case "fcm-fault": fcm.faults.append(try GatewayFault(command, of: .fcm))
        case "fcm-answers": fcm.isZipping = try command.flag("gzip")
        case "oauth-fault": fcm.oauthFaults.append(try GatewayFault(command, of: .oauth))
        case "oauth":
            if let seconds = try command.number("life") {
                fcm.oauth.life = .seconds(min(max(seconds, 1), 86_400))
            }
            if command["foreign"] != nil { fcm.oauth.isForeign = try command.flag("foreign") }
            if try command.flag("revoke") { fcm.oauth.revoke() }
        case "settings":
            let streams = try command.required("streams", command.number("streams"))
            for connection in connections(of: fcm) {
                connection.allow(streams: max(0, Int(clamping: streams)))
            }
        case "deaf":
            let after = try command.number("after").map { Int(clamping: $0) }
            fcm.connections.deafness = GatewayDeafness(after: after)
        case "tls-fault": try failHandshakes(command, listener: fcm.listener)
        case "goaway": fcm.connections.plannedGoAway = try plannedGoAway(command)
        case "drop":
            let isReset = try command.flag("reset")
            for connection in connections(of: fcm) { connection.drop(resetting: isReset) }
        default: return nil
        }
        return [:]
    }

    private func connections(of fcm: FCMGateway) -> [ServerConnection] {
        server.connections.filter { $0.listener == fcm.listener }
    }

    private func mark(_ command: JSONObject, _ fcm: FCMGateway) throws(Failure) {
        let token = try command.required("token", command.text("token"))
        let name = try command.text("is") ?? "good"
        if name == "good" {
            fcm.devices[token] = nil
            return
        }
        guard let state = FCMGateway.DeviceState(rawValue: name) else {
            throw badCommand("is must be good, gone, other-project or bad")
        }
        fcm.devices[token] = state
    }

    /// Lets FCM begin on a port of its own.
    static func fcmGateway(
        on server: Server, _ workshop: Workshop, options: Simulator
    ) throws(Failure) -> FCMGateway? {
        guard options.services.contains(.fcm) else { return nil }
        let listener = server.listenerCount
        var limits = ServerLimits()
        limits.requestBody = 16_384
        // As Google's servers announce, `nghttp -v https://www.google.com` shows: 100 streams and 1 MiB.
        limits.window = 1 << 20
        let port = try server.listen(port: options.fcmPort, limits)
        let address = "https://127.0.0.1:\(port)"
        return FCMGateway(
            project: workshop.project, account: try workshop.serviceAccount(at: address),
            address: address, listener: listener)
    }

    /// The lines of `simulator.env` that let Turnstone push here.
    var fcmEnvironment: [String] {
        guard let fcm else { return [] }
        return [
            "FCM_SERVICE_ACCOUNT=\(workshop.accountPath)", "FCM_BASE_URL=\(fcm.address)",
            "FCM_CA_FILE=\(workshop.authority)",
        ]
    }

    /// FCM's part of the report.
    func report(_ fcm: FCMGateway, withIDs: Bool) -> JSONObject {
        fcm.connections.removeLinks(except: server.connections)
        let journal = fcm.journal
        var report: JSONObject = [
            "requests": JSONValue(fcm.requests), "accepted": JSONValue(journal.accepted),
            "distinct_ids": JSONValue(journal.acceptedIDs.count),
            "repeated_ids": JSONValue(journal.repeatedIDs),
            "answers": counts(journal.reasons),
            "oauth_requests": JSONValue(fcm.oauth.requests),
            "oauth_answers": counts(fcm.oauth.answers),
            "access_tokens": JSONValue(fcm.oauth.given),
            "connections": JSONValue(server.accepted(listener: fcm.listener)),
            "streams_over_limit": JSONValue(server.refusedStreams(listener: fcm.listener)),
        ]
        if withIDs { report["ids"] = counts(journal.acceptedIDs) }
        if !journal.isQuiet { report["pushes"] = .array(journal.entries.map(\.json)) }
        return report
    }

    private func counts(_ counts: [String: Int]) -> JSONValue {
        var members = JSONObject()
        for (name, count) in counts.sorted(by: { $0.key < $1.key }) {
            members.append(name, JSONValue(count))
        }
        return .object(members)
    }
}

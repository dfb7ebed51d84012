import HTTP2Server
import JSON
import Turnstone

extension Stage {
    /// The index of FCM's port among the server's.
    static let fcmListener = 3

    /// - Returns: `nil` if this is not one of FCM's commands.
    func performForFCM(_ name: String, _ command: JSONObject) throws(Failure) -> JSONObject? {
        let isForFCM = try command.text("service") == "fcm"
        guard isForFCM || ["fcm-token", "fcm-fault", "oauth", "oauth-fault"].contains(name) else {
            return nil
        }
        guard let fcm else { throw badCommand("there is no FCM: start with --services apns,fcm") }
        switch name {
        case "fcm-token": try mark(command, fcm)
        case "fcm-fault": fcm.faults.append(try GatewayFault(command, of: .fcm))
        case "oauth-fault": fcm.oauthFaults.append(try GatewayFault(command, of: .oauth))
        case "oauth":
            if let seconds = try command.number("life") {
                fcm.oauth.life = .seconds(min(max(seconds, 1), 86_400))
            }
            if command["foreign"] != nil { fcm.oauth.isForeign = try command.flag("foreign") }
            if try command.flag("revoke") { fcm.oauth.revoke() }
        case "settings":
            let streams = try command.required("streams", command.number("streams"))
            for connection in fcmConnections {
                connection.allow(streams: max(0, Int(clamping: streams)))
            }
        case "deaf":
            let after = try command.number("after").map { Int(clamping: $0) }
            fcm.connections.deafness = GatewayDeafness(after: after)
        case "tls-fault": try failHandshakes(command, listener: Self.fcmListener)
        case "goaway": fcm.connections.plannedGoAway = try plannedGoAway(command)
        case "drop":
            let isReset = try command.flag("reset")
            for connection in fcmConnections { connection.drop(resetting: isReset) }
        default: return nil
        }
        return [:]
    }

    private var fcmConnections: [ServerConnection] {
        server.connections.filter { $0.listener == Self.fcmListener }
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
            "connections": JSONValue(server.accepted(listener: Self.fcmListener)),
            "streams_over_limit": JSONValue(server.refusedStreams(listener: Self.fcmListener)),
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

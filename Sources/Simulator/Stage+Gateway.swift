import HTTP2
import HTTP2Server
import JSON
import Turnstone

extension Stage {
    /// - Returns: `nil` if this is not one of APNs' commands.
    func performForGateway(_ name: String, _ command: JSONObject) throws(Failure) -> JSONObject? {
        guard let apns else { return nil }
        switch name {
        case "token":
            try mark(command)
            return [:]
        case "key":
            let id = try command.required("key_id", command.text("key_id"))
            let team = try command.text("team_id") ?? workshop.team
            gateway.tokens.keys[id] = ProviderTokens.Key(
                team: team, publicKey: try workshop.publicKey(id))
            return ["apns_key": .string(workshop.keyPath(id)), "team_id": .string(team)]
        case "apns-fault":
            gateway.faults.append(try GatewayFault(command))
            return [:]
        case "early":
            let status = try command.number("status") ?? 503
            let reason = try command.text("reason") ?? GatewayFault.standardReason(status)
            gateway.early = PushRefusal(Int(status), reason, "before the body")
            return [:]
        case "settings":
            let streams = try command.required("streams", command.number("streams"))
            let allowed = max(0, Int(clamping: streams))
            if let after = try command.number("after") {
                let count = gateway.requests + max(0, Int(clamping: after))
                gateway.streamPlans.append((count, allowed))
            } else {
                allow(streams: allowed)
            }
            return [:]
        case "deaf":
            let after = try command.number("after").map { Int(clamping: $0) }
            gateway.connections.deafness = GatewayDeafness(after: after)
            return [:]
        case "tls-fault":
            try failHandshakes(command, listener: apns.listener)
            return [:]
        case "goaway":
            gateway.connections.plannedGoAway = try plannedGoAway(command)
            return [:]
        case "drop":
            let isReset = try command.flag("reset")
            for connection in server.connections where connection.listener == apns.listener {
                connection.drop(resetting: isReset)
            }
            return [:]
        default: return nil
        }
    }

    private func allow(streams: Int) {
        gateway.streams = streams
        for connection in server.connections where connection.listener == apns?.listener {
            gateway.announceStreams(to: connection)
        }
    }

    /// Carries out plans for which enough requests have arrived.
    func carryOutPlans() {
        while let plan = gateway.streamPlans.first, plan.after <= gateway.requests {
            gateway.streamPlans.removeFirst()
            allow(streams: plan.streams)
        }
    }

    /// The lines of `simulator.env` that let Turnstone push here.
    var apnsEnvironment: [String] {
        guard let apns else { return [] }
        return [
            "APNS_BASE_URL=\(apns.address)", "APNS_MANAGEMENT_BASE_URL=\(apns.management)",
            "APNS_CA_FILE=\(workshop.authority)",
            "APNS_KEY_PATH=\(workshop.keyPath(workshop.keyID))",
            "APNS_KEY_ID=\(workshop.keyID)", "APNS_TEAM_ID=\(workshop.team)",
            "APNS_BUNDLE_ID=\(workshop.bundle)", "APNS_ENVIRONMENT=\(environment)",
        ]
    }

    func failHandshakes(_ command: JSONObject, listener: Int) throws(Failure) {
        let text = try command.required("kind", command.text("kind"))
        guard let fault = HandshakeFault(rawValue: text) else {
            throw badCommand("kind must be close, reset, garble or cut")
        }
        let count = try command.number("count") ?? 1
        server.failHandshakes(listener: listener, fault, count: Int(min(max(0, count), 1000)))
    }

    func plannedGoAway(_ command: JSONObject) throws(Failure) -> ConnectionFaults.PlannedGoAway {
        let reason = try command.text("reason") ?? "Shutdown"
        return ConnectionFaults.PlannedGoAway(
            after: Int(clamping: try command.number("after") ?? 0),
            code: UInt32(clamping: try command.number("code") ?? 0),
            debugData: JSON.text(["reason": .string(reason)]),
            isAbrupt: try command.flag("abrupt"), isForEach: try command.flag("each"))
    }

    private func mark(_ command: JSONObject) throws(Failure) {
        let token = try command.required("token", command.text("token")).lowercased()
        switch try command.text("is") ?? "good" {
        case "good": gateway.devices[token] = nil
        case "bad", "other-environment": gateway.devices[token] = .bad
        case "gone":
            gateway.devices[token] = .gone(
                reason: try command.text("reason") ?? "Unregistered",
                since: try command.moment("since") ?? now)
        case "other-topic": gateway.devices[token] = .topic("another")
        default: throw badCommand("is must be good, bad, gone, other-environment or other-topic")
        }
    }
}

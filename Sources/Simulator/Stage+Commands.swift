import HTTP2
import HTTP2Server
import Turnstone

extension Stage {
    /// Performs a command.
    ///
    /// - Returns: the members of its answer besides `ok`.
    func perform(_ command: JSONObject) throws(Failure) -> JSONObject {
        let name = try command.required("do", command.text("do"))
        if let answer = try performForFCM(name, command) { return answer }
        if let answer = try performForWeb(name, command) { return answer }
        if let answer = try performForBoard(name, command) { return answer }
        if let answer = try performForGateway(name, command) { return answer }
        if let answer = try performForChannels(name, command) { return answer }
        switch name {
        case "clock":
            let advance = try command.number("advance_ms").map { Interval(milliseconds: $0) }
            setClock(try command.moment("now"), advance: advance)
            return ["now": JSONValue(now)]
        case "report": return report(withIDs: try command.flag("ids"))
        case "show": return ["text": .string(shownPushes)]
        case "clear":
            site.faults = []
            gateway.clearFaults()
            fcm?.clearFaults()
            web?.clearFaults()
            clearHandshakeFaults()
            return [:]
        case "reset":
            site.reset()
            gateway.reset()
            fcm?.reset()
            web?.reset()
            clearHandshakeFaults()
            setClock(nil, advance: nil)
            return [:]
        case "end": return [:]
        default:
            let advice = apns == nil ? "; start the simulator with --services apns for APNs'" : ""
            throw badCommand("unknown command \(name)\(advice)")
        }
    }

    private var shownPushes: String {
        let phones = gateway.journal.entries + (fcm?.journal.entries ?? [])
        let browsers = (web?.entries ?? []).filter(\.isAccepted).map(browserPicture)
        return (phones.filter(\.isAccepted).map(phonePicture) + browsers).joined(separator: "\n")
    }

    private func report(withIDs: Bool) -> JSONObject {
        var players = JSONObject()
        for (player, count) in site.requestsByPlayer.sorted(by: { $0.key < $1.key }) {
            players.append("\(player)", JSONValue(count))
        }
        let ogs: JSONObject = [
            "requests": JSONValue(site.requests), "unchanged": JSONValue(site.unchanged),
            "busiest_second": JSONValue(site.busiestSecond), "players": .object(players),
            "connections": JSONValue(server.accepted(listener: 0)),
            "violations": .array(site.violations.map { .string($0) }),
        ]
        var report: JSONObject = ["ogs": .object(ogs)]
        if let apns { report["apns"] = .object(self.report(apns, withIDs: withIDs)) }
        if let fcm { report["fcm"] = .object(self.report(fcm, withIDs: withIDs)) }
        if let web {
            web.connections.removeLinks(except: server.connections)
            var members = web.report
            members["connections"] = JSONValue(server.accepted(listener: web.listener))
            report["web"] = .object(members)
        }
        return report
    }

    /// APNs' part of the report.
    private func report(_ apns: APNsPorts, withIDs: Bool) -> JSONObject {
        gateway.connections.removeLinks(except: server.connections)
        let journal = gateway.journal
        var reasons = JSONObject()
        for (reason, count) in journal.reasons.sorted(by: { $0.key < $1.key }) {
            reasons.append(reason, JSONValue(count))
        }
        var report: JSONObject = [
            "requests": JSONValue(gateway.requests), "accepted": JSONValue(journal.accepted),
            "distinct_ids": JSONValue(journal.acceptedIDs.count),
            "repeated_ids": JSONValue(journal.repeatedIDs), "answers": .object(reasons),
            "provider_tokens": JSONValue(gateway.tokens.count),
            "connections": JSONValue(server.accepted(listener: apns.listener)),
            "streams_over_limit": JSONValue(server.refusedStreams(listener: apns.listener)),
            "open_streams": JSONValue(server.openStreams(listener: apns.listener)),
        ]
        if withIDs {
            var ids = JSONObject()
            for (id, count) in journal.acceptedIDs { ids.append(id, JSONValue(count)) }
            report["ids"] = .object(ids)
        }
        if !journal.isQuiet { report["pushes"] = .array(journal.entries.map(\.json)) }
        report["channels"] = gateway.channels.report
        return report
    }

    private func clearHandshakeFaults() {
        if let apns { server.clearHandshakeFaults(listener: apns.listener) }
        if let fcm { server.clearHandshakeFaults(listener: fcm.listener) }
        if let web { server.clearHandshakeFaults(listener: web.listener) }
    }
}

extension JSONObject {
    /// A moment in milliseconds since 1970.
    func moment(_ name: String) throws(Failure) -> Timestamp? {
        try number(name).map { Timestamp(milliseconds: $0) }
    }
}

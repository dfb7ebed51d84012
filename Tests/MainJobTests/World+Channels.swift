import Documents
import JSON
import Store
import TestSupport
import Turnstone

#if canImport(Glibc)
    import Glibc
#endif

/// An app's own backend using broadcast channels, and the results.
extension World {
    /// A broadcast as the stand-in got it.
    struct Broadcast {
        let timestamp: Int64
        let event: String
        let step: Int64
        let alert: String?
    }

    func askChannels(
        _ method: String, _ id: String? = nil, body: JSONObject? = nil
    ) throws -> Answer {
        // As it may stand in a path.
        let place = id.map {
            "/" + $0.replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
        }
        let event = message(method, "/api/push/channels\(place ?? "")", body)
        return try Answer(event: startBackend("channels", event).end().stdout)
    }

    /// A request that is granted.
    func channels(_ method: String, _ id: String? = nil) throws -> JSONObject {
        let answer = try askChannels(method, id)
        guard answer.status == 200, let members = answer.json?.object else {
            throw TestFailure("\(answer.status): \(answer.body)")
        }
        return members
    }

    func makeChannel(_ policy: String) throws -> String {
        let answer = try askChannels("POST", body: ["messageStoragePolicy": .string(policy)])
        guard answer.status == 201, let id = answer.json?.object?["id"]?.string else {
            throw TestFailure("no channel: \(answer.body)")
        }
        return id
    }

    func broadcasting(
        _ channel: String, _ step: Int64, _ more: JSONObject = [:]
    ) -> JSONValue {
        var body: JSONObject = [
            "channel": .string(channel), "contentState": ["step": .integer(step)],
        ]
        for member in more.members { body[member.name] = member.value }
        return message("POST", "/api/push/live-activity", body)
    }

    func broadcast(
        _ channel: String, _ step: Int64, _ more: JSONObject = [:]
    ) throws -> Answer {
        try Answer(
            event: startBackend("live-activity", broadcasting(channel, step, more)).end().stdout)
    }

    /// Leaves a deletion as it is before APNs is asked.
    func markDeleted(_ channel: String) throws {
        var settings = Variables()
        settings.offer("TURNSTONE_STATE", state.path)
        guard let id = ChannelID(channel) else { throw TestFailure("no id: \(channel)") }
        try State(settings).channels[id].update {
            $0.deleted = Timestamp(milliseconds: now)
        }
    }

    func killDrainer(after milliseconds: Int) throws {
        let program = try start("deliver")
        usleep(UInt32(milliseconds) * 1000)
        program.send(SIGKILL)
        _ = try program.end()
    }

    /// The accepted broadcasts, repeats with a lost answer once.
    func broadcasts() throws -> [Broadcast] {
        var ids: Set<String> = []
        return try simulator.pushes().filter { $0["accepted"] == true }.compactMap { push in
            guard let id = push["apns_id"]?.string, ids.insert(id).inserted,
                let aps = push["payload"]?.object?["aps"]?.object,
                let timestamp = aps["timestamp"]?.integer, let event = aps["event"]?.string,
                let step = aps["content-state"]?.object?["step"]?.integer
            else { return nil }
            let alert = aps["alert"]?.object?["title"]?.string
            return Broadcast(timestamp: timestamp, event: event, step: step, alert: alert)
        }
    }

    func outcomes(of channel: String) throws -> [String] {
        try receipts().filter { $0["channel"] == .string(channel) }.compactMap {
            $0["outcome"]?.string
        }
    }
}

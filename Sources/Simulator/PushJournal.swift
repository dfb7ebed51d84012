import HTTP2
import HTTP2Server
import Turnstone

/// What came to APNs, and what it answered.
struct PushJournal {
    struct Entry {
        let time: Timestamp
        let connection: Int
        let id: String
        let aim: Aim
        let fields: [(name: String, value: String)]
        let payload: JSONValue?
        /// 0 where nothing was answered.
        let status: Int
        let reason: String?
        let isAccepted: Bool

        /// What it is for.
        enum Aim {
            case device(String)
            case channel(String)

            var text: String {
                switch self {
                case .device(let text), .channel(let text): text
                }
            }
        }

        var json: JSONValue {
            var members: JSONObject = [
                "time": JSONValue(time), "connection": JSONValue(connection),
                "apns_id": .string(id),
            ]
            switch aim {
            case .device(let token): members["token"] = .string(token)
            case .channel(let channel): members["channel"] = .string(channel)
            }
            members["accepted"] = .bool(isAccepted)
            members["status"] = JSONValue(status)
            if let reason { members["reason"] = .string(reason) }
            var headers = JSONObject()
            for field in fields where !field.name.hasPrefix(":") && field.name != "authorization" {
                headers[field.name] = .string(field.value)
            }
            members["headers"] = .object(headers)
            if let payload { members["payload"] = payload }
            return .object(members)
        }
    }

    var isQuiet = false
    private(set) var entries: [Entry] = []
    private(set) var accepted = 0
    /// How often each `apns-id` was accepted.
    private(set) var acceptedIDs: [String: Int] = [:]
    /// Answers by reason, and without one by what happened instead.
    private(set) var reasons: [String: Int] = [:]

    mutating func accept(_ id: String) {
        accepted += 1
        acceptedIDs[id, default: 0] += 1
    }

    mutating func note(_ reason: String) { reasons[reason, default: 0] += 1 }

    mutating func append(_ entry: @autoclosure () -> Entry) {
        if !isQuiet { entries.append(entry()) }
    }

    /// How many ids were accepted more than once.
    var repeatedIDs: Int {
        acceptedIDs.count == accepted ? 0 : acceptedIDs.values.count { $0 > 1 }
    }
}

import Turnstone

/// The pushes that APNs has received, and its answers.
struct PushJournal {
    struct Entry {
        /// The push service that got it, if it is not APNs.
        var service: String?
        let time: Timestamp
        let connection: Int
        let id: String
        let target: Target
        let fields: [(name: String, value: String)]
        let payload: JSONValue?
        /// 0 without an answer.
        let status: Int
        let reason: String?
        let isAccepted: Bool

        /// The device or channel that it is for.
        enum Target {
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
            ]
            if let service {
                members["service"] = .string(service)
                members["name"] = .string(id)
            } else {
                members["apns_id"] = .string(id)
            }
            switch target {
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
    /// The number of times that each `apns-id` was accepted.
    private(set) var acceptedIDs: [String: Int] = [:]
    /// The count of answers by reason, or by what happened if there was none.
    private(set) var reasons: [String: Int] = [:]

    mutating func accept(_ id: String) {
        accepted += 1
        acceptedIDs[id, default: 0] += 1
    }

    mutating func count(_ reason: String) { reasons[reason, default: 0] += 1 }

    mutating func append(_ entry: @autoclosure () -> Entry) {
        if !isQuiet { entries.append(entry()) }
    }

    /// The number of ids that were accepted more than once.
    var repeatedIDs: Int {
        acceptedIDs.count == accepted ? 0 : acceptedIDs.values.count { $0 > 1 }
    }
}

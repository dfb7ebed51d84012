import JSON
import Turnstone

extension Stage {
    /// - Returns: `nil` if the command is not about broadcast channels.
    func performForChannels(_ name: String, _ command: JSONObject) throws(Failure) -> JSONObject? {
        guard apns != nil else { return nil }
        switch name {
        case "channel": try putChannel(command)
        case "channels":
            if let limit = try command.number("limit") {
                gateway.channels.limit = Int(clamping: limit)
            }
            if command["enabled"] != nil {
                gateway.channels.isEnabled = try command.flag("enabled")
            }
        case "channel-fault":
            if try command.text("kind") == "malformed" {
                gateway.channels.malformedAnswers = try command.number("count") ?? .max
            } else {
                gateway.channels.faults.append(try GatewayFault(command))
            }
        default: return nil
        }
        return [:]
    }

    private func putChannel(_ command: JSONObject) throws(Failure) {
        let id = try command.required("channel", command.text("channel"))
        let known = gateway.channels.channels[id]?.policy ?? .nothing
        let policy = try command.text("policy").map { (text) throws(Failure) in
            guard let policy = StoragePolicy(rawValue: text) else {
                throw badCommand("policy must be none or newest")
            }
            return policy
        }
        switch try command.text("is") ?? "good" {
        case "good": gateway.channels.put(id, .init(policy: policy ?? known))
        case "deleted": gateway.channels.put(id, .init(policy: policy ?? known, isDeleted: true))
        case "unknown": gateway.channels.put(id, nil)
        default: throw badCommand("is must be good, deleted or unknown")
        }
    }
}

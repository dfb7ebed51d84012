import JSON
import Turnstone

// The form of the spool's files, and of the receipts: FORMAT.md.

extension Notification {
    static let version: Int64 = 1

    init?(text: [UInt8]) {
        let parsed: JSONValue
        do throws(JSONError) { parsed = try JSON.parse(text) } catch { return nil }
        guard let members = parsed.object, let version = members["version"]?.integer,
            version <= Self.version, let id = members["id"]?.string,
            let user = members["user"]?.string.flatMap(UserID.init),
            let accepted = members["accepted_at"]?.timestamp,
            let expires = members["expires_at"]?.timestamp,
            let push = members["push"]?.object.flatMap(PushContent.init),
            let devices = members["devices"]?.array
        else { return nil }
        var deliveries: [Delivery] = []
        for device in devices {
            guard let delivery = device.object.flatMap(Delivery.init) else { return nil }
            deliveries.append(delivery)
        }
        var told: TurnsTold?
        if let notice = members["notice"]?.integer {
            guard let turns = members["turns"].flatMap(TurnLedger.init) else { return nil }
            told = TurnsTold(notice: notice, turns: turns)
        }
        self.init(
            id: id, user: user, accepted: accepted, expires: expires, push: push,
            deliveries: deliveries, turns: told)
        notBefore = members["not_before"]?.timestamp
    }

    var text: [UInt8] {
        var members: JSONObject = [
            "version": .integer(Self.version), "id": .string(id), "user": .string(user.text),
            "accepted_at": JSONValue(accepted), "expires_at": JSONValue(expires),
        ]
        members["not_before"] = notBefore.map { JSONValue($0) }
        members["push"] = .object(push.members)
        members["devices"] = .array(deliveries.map { .object($0.members(named: $0.token.hex)) })
        if let turns {
            members["notice"] = .integer(turns.notice)
            members["turns"] = turns.turns.json
        }
        return JSON.text(.object(members)) + [UInt8(ascii: "\n")]
    }

    /// What became of it, without tokens and without what it said.
    func receipt(finished: Timestamp) -> [UInt8] {
        let members: JSONObject = [
            "version": .integer(Self.version), "id": .string(id), "user": .string(user.text),
            "accepted_at": JSONValue(accepted), "finished_at": JSONValue(finished),
            "devices": .array(
                deliveries.map { .object($0.members(named: $0.token.description)) }),
        ]
        return JSON.text(.object(members)) + [UInt8(ascii: "\n")]
    }
}

extension PushContent {
    fileprivate init?(_ members: JSONObject) {
        guard let type = members["push_type"]?.string, let priority = members["priority"]?.integer,
            let payload = members["payload"]
        else { return nil }
        self.init(
            type: type, priority: Int(priority), collapseID: members["collapse_id"]?.string,
            payload: payload)
    }

    fileprivate var members: JSONObject {
        var members: JSONObject = [
            "push_type": .string(type), "priority": .integer(Int64(priority)),
        ]
        members["collapse_id"] = collapseID.map { .string($0) }
        members["payload"] = payload
        return members
    }
}

extension Delivery {
    fileprivate init?(_ members: JSONObject) {
        guard let token = members["device"]?.string.flatMap(DeviceToken.init) else { return nil }
        self.init(
            token: token,
            environment: members["environment"]?.string.flatMap(APNsEnvironment.init))
        for element in members["attempts"]?.array ?? [] {
            guard let attempt = element.object.flatMap(Attempt.init) else { return nil }
            attempts.append(attempt)
        }
        outcome = members["outcome"]?.string.flatMap(Outcome.init)
    }

    fileprivate func members(named name: String) -> JSONObject {
        var members: JSONObject = ["device": .string(name)]
        members["environment"] = environment.map { .string($0.rawValue) }
        if !attempts.isEmpty { members["attempts"] = .array(attempts.map { .object($0.members) }) }
        members["outcome"] = outcome.map { .string($0.rawValue) }
        return members
    }
}

extension Delivery.Attempt {
    fileprivate init?(_ members: JSONObject) {
        guard let at = members["at"]?.timestamp, let pushID = members["apns_id"]?.string else {
            return nil
        }
        self.init(
            at: at, status: members["status"]?.integer.map { Int($0) },
            reason: members["reason"]?.string, pushID: pushID)
    }

    fileprivate var members: JSONObject {
        var members: JSONObject = ["at": JSONValue(at), "apns_id": .string(pushID)]
        members["status"] = status.map { .integer(Int64($0)) }
        members["reason"] = reason.map { .string($0) }
        return members
    }
}

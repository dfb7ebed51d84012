import JSON
import Turnstone

// The lines of the spool's files: FORMAT.md.

extension Notification {
    static let version: Int64 = 1

    init?(_ members: JSONObject) {
        guard let version = members["version"]?.integer, version <= Self.version,
            let id = members["id"]?.string, let accepted = members["accepted_at"]?.timestamp,
            let expires = members["expires_at"]?.timestamp,
            let push = members["push"]?.object.flatMap(PushContent.init)
        else { return nil }
        var user: UserID?
        if let name = members["user"] {
            guard let known = name.string.flatMap(UserID.init) else { return nil }
            user = known
        }
        var notified: NotifiedTurns?
        if let notice = members["notice"]?.count {
            guard let turns = members["turns"].flatMap(TurnLedger.init) else { return nil }
            notified = NotifiedTurns(notice: notice, turns: turns)
        }
        self.init(
            id: id, user: user, accepted: accepted, expires: expires, push: push, turns: notified)
        if let name = members["cargo"] {
            guard let known = name.string.flatMap(Cargo.init) else { return nil }
            cargo = known
        }
        session = members["session"]?.string
        kind = members["kind"]?.string
        messageIDs = members["messages"]?.texts ?? []
        order = members["order"]?.integer
        badge = members["badge"].flatMap(BadgeChange.init)
        audience = members["audience"]
        notBefore = members["not_before"]?.timestamp
        if let json = members["delayed"] {
            guard let known = DelayedOption(json) else { return nil }
            delayed = known
        }
        life = members["life"]?.integer.map { .milliseconds($0) }
        throttle = members["throttle"]?.integer.flatMap { $0 > 0 ? min($0, Throttle.most) : nil }
        hasOwnExpiration = members["own_life"]?.bool ?? false
        if let json = members["series"] {
            guard let known = Series(json) else { return nil }
            series = known
        }
    }

    var members: JSONObject {
        var members: JSONObject = ["version": .integer(Self.version), "id": .string(id)]
        members["user"] = user.map { .string($0.text) }
        members["accepted_at"] = JSONValue(accepted)
        members["expires_at"] = JSONValue(expires)
        members["push"] = .object(push.members)
        if let turns {
            members["notice"] = .integer(turns.notice)
            members["turns"] = turns.turns.json
        }
        members["cargo"] = cargo.map { .string($0.rawValue) }
        members["session"] = session.map { .string($0) }
        members["kind"] = kind.map { .string($0) }
        members["series"] = series.map { $0.json }
        members["order"] = order.map { .integer($0) }
        members["badge"] = badge.map { $0.json }
        members["audience"] = audience
        members["not_before"] = notBefore.map { JSONValue($0) }
        members["delayed"] = delayed.map { $0.json }
        members["life"] = life.map { .integer($0.milliseconds) }
        members["throttle"] = throttle.map { .integer($0) }
        members["own_life"] = hasOwnExpiration ? true : nil
        members["messages"] = messageIDs.isEmpty ? nil : JSONValue(texts: messageIDs)
        return members
    }
}

extension PushContent {
    fileprivate init?(_ members: JSONObject) {
        guard let type = members["push_type"]?.string.flatMap(PushType.init),
            let priority = members["priority"]?.integer,
            let payload = members["payload"].flatMap(Payload.init)
        else { return nil }
        self.init(
            type: type, priority: Int(priority), collapseID: members["collapse_id"]?.string,
            payload: payload, isKept: members["kept"]?.bool ?? true)
        overrides = PushOverrides(
            apns: members["apns"]?.object, android: members["android"]?.object,
            web: members["web"]?.object)
        if let json = members["texts"] {
            guard let known = AlertTranslations(json) else { return nil }
            translations = known
        }
    }

    fileprivate var members: JSONObject {
        var members: JSONObject = [
            "push_type": .string(type.rawValue), "priority": .integer(Int64(priority)),
        ]
        members["collapse_id"] = collapseID.map { .string($0) }
        members["kept"] = isKept ? nil : false
        members["payload"] = payload.json
        members["texts"] = translations.isEmpty ? nil : translations.json
        members["apns"] = overrides.apns.map { .object($0) }
        members["android"] = overrides.android.map { .object($0) }
        members["web"] = overrides.web.map { .object($0) }
        return members
    }
}

extension Delivery {
    init?(_ members: JSONObject) {
        guard let number = members["n"]?.integer.flatMap(Int.init(exactly:)), isNumber(number)
        else { return nil }
        let environment = members["environment"]?.string.flatMap(APNsEnvironment.init)
        if let text = members["device"]?.string {
            guard let service = PushService(rawValue: members["service"]?.string ?? "apns"),
                let token = DeviceToken(text, of: service)
            else { return nil }
            self.init(
                token: token, of: service, environment: environment,
                user: members["user"]?.string.flatMap(UserID.init),
                badge: members["badge"]?.count.map { Int($0) },
                isProven: members["proven"]?.bool ?? false)
        } else if let channel = members["channel"]?.string.flatMap(ChannelID.init) {
            self.init(channel: channel, environment: environment)
        } else {
            return nil
        }
        self.number = number
        setAlternate(to: members["also"]?.bool == true ? number : nil)
        deviceID = members["device_id"]?.string
        stamp = members["stamp"]?.integer
        for kind in FailureKind.allCases {
            guard let count = members["\(kind.rawValue)_failures"]?.count else { continue }
            failures = Failures(kind, count: Int(count))
        }
        isInDoubt = members["in_doubt"]?.bool ?? false
    }

    var members: JSONObject {
        var members: JSONObject = ["n": .integer(Int64(number))]
        switch aim {
        case .device(let token): members["device"] = .string(token.text)
        case .channel(let channel): members["channel"] = .string(channel.text)
        }
        members["service"] = service == .apns ? nil : .string(service.rawValue)
        members["also"] = isAlternate ? true : nil
        members["environment"] = environment.map { .string($0.rawValue) }
        members["user"] = user.map { .string($0.text) }
        members["device_id"] = deviceID.map { .string($0) }
        members["badge"] = badge.map { .integer(Int64($0)) }
        members["stamp"] = stamp.map { .integer($0) }
        members["proven"] = isProven ? true : nil
        if let failures {
            members["\(failures.kind.rawValue)_failures"] = .integer(Int64(failures.count))
        }
        members["in_doubt"] = isInDoubt ? true : nil
        return members
    }
}

/// Encodes an object as one line.
func line(_ members: JSONObject) -> [UInt8] { JSON.text(.object(members)) + [UInt8(ascii: "\n")] }

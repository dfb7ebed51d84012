/// What waited for a user as earlier versions kept it, in the user's document: a drainer moves it to where it waits now.
package struct HeldMessages: Equatable, Sendable {
    package struct Entry: Equatable, Sendable {
        /// By which its sender knows it; of a merged one, the newest one's.
        package let id: String
        /// By what users turn it off; `nil` where it was held before that was kept.
        package let kind: String?
        package let payload: Payload
        package let collapseID: String?
        /// The one device that it is for; `nil` for all that the user has when it is released.
        package let device: String?
        /// How many devices it was accepted for.
        package let count: Int64
        package let expires: Timestamp
    }

    /// What waits no longer: a notification brings it.
    package struct Release: Equatable, Sendable {
        /// Of the notification.
        package let id: String
        package let message: Entry
        /// Of the messages that went into it.
        package let messageIDs: [String]
    }

    /// The newest last.
    package private(set) var messages: [Entry] = []
    /// How many more there were.
    private var uncounted: Int64 = 0
    /// Of all that waits, and of what gave way to it.
    package private(set) var messageIDs: [String] = []
    /// When there is a notification that reminds of them.
    private var due: Timestamp?
    package private(set) var releases: [Release] = []

    package init() {}

    /// Forgets what a notification brought: it is over.
    package mutating func finish(_ id: String) { releases.removeAll { $0.id == id } }
}

extension HeldMessages {
    /// Reads the form that ``json`` writes; `nil` where it is none.
    package init?(_ json: JSONValue) {
        guard let members = json.object else { return nil }
        for element in members["messages"]?.array ?? [] {
            guard let message = Entry(element) else { return nil }
            messages.append(message)
        }
        uncounted = members["uncounted"]?.count ?? 0
        messageIDs = members["ids"]?.texts ?? []
        due = members["due"]?.timestamp
        for element in members["releases"]?.array ?? [] {
            guard let release = Release(element) else { return nil }
            releases.append(release)
        }
    }

    /// `{"messages": [{"id", "kind"?, "payload", "collapse_id"?, "device_id"?, "devices"?, "expires_at"}], "uncounted"?, "ids", "due"?, "releases"?: [{"id",
    /// "message", "ids"}]}`
    package var json: JSONValue {
        var members: JSONObject = ["messages": .array(messages.map { $0.json })]
        if uncounted > 0 { members["uncounted"] = .integer(uncounted) }
        members["ids"] = JSONValue(texts: messageIDs)
        members["due"] = due.map { JSONValue($0) }
        if !releases.isEmpty { members["releases"] = .array(releases.map { $0.json }) }
        return .object(members)
    }
}

extension HeldMessages.Release {
    fileprivate init?(_ json: JSONValue) {
        guard let members = json.object, let id = members["id"]?.string,
            let message = members["message"].flatMap(HeldMessages.Entry.init)
        else { return nil }
        self.init(id: id, message: message, messageIDs: members["ids"]?.texts ?? [])
    }

    fileprivate var json: JSONValue {
        ["id": .string(id), "message": message.json, "ids": JSONValue(texts: messageIDs)]
    }
}

extension HeldMessages.Entry {
    fileprivate init?(_ json: JSONValue) {
        guard let members = json.object, let id = members["id"]?.string,
            let payload = members["payload"].flatMap(Payload.init),
            let expires = members["expires_at"]?.timestamp
        else { return nil }
        self.init(
            id: id, kind: members["kind"]?.string, payload: payload,
            collapseID: members["collapse_id"]?.string,
            device: members["device_id"]?.string, count: members["devices"]?.count ?? 1,
            expires: expires)
    }

    fileprivate var json: JSONValue {
        var members: JSONObject = ["id": .string(id)]
        members["kind"] = kind.map { .string($0) }
        members["payload"] = payload.json
        members["collapse_id"] = collapseID.map { .string($0) }
        members["device_id"] = device.map { .string($0) }
        members["devices"] = count == 1 ? nil : .integer(count)
        members["expires_at"] = JSONValue(expires)
        return .object(members)
    }
}

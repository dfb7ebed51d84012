/// Messages held for a user in the user's document, as earlier versions stored them. A drainer moves them to
/// the spool.
package struct HeldMessages: Equatable, Sendable {
    package struct Entry: Equatable, Sendable {
        /// The id by which its sender knows it; for a merged message, the newest one's.
        package let id: String
        /// The kind by which users turn it off; `nil` if it was stored before kinds were.
        package let kind: String?
        package let payload: Payload
        package let collapseID: String?
        /// The only device that it is for; `nil` for all devices that the user has when it is released.
        package let device: String?
        /// How many devices it was accepted for.
        package let count: Int64
        package let expires: Timestamp
    }

    /// A released message, which a notification delivers.
    package struct Release: Equatable, Sendable {
        /// The notification's id.
        package let id: String
        package let message: Entry
        /// The ids of the messages that were merged into it.
        package let messageIDs: [String]
    }

    /// Oldest first.
    package private(set) var messages: [Entry] = []
    /// How many more messages there were.
    private var uncounted: Int64 = 0
    /// The ids of all waiting messages and of those that newer ones replaced.
    package private(set) var messageIDs: [String] = []
    /// When a notification in the spool reminds of them.
    private var due: Timestamp?
    package private(set) var releases: [Release] = []

    package init() {}

    /// Forgets a release whose notification is finished.
    package mutating func finish(_ id: String) { releases.removeAll { $0.id == id } }
}

extension HeldMessages {
    /// Reads the form that ``json`` writes; `nil` for anything else.
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

    /// `{"messages": [{"id", "kind"?, "payload", "collapse_id"?, "device_id"?, "devices"?, "expires_at"}],
    /// "uncounted"?, "ids", "due"?, "releases"?: [{"id", "message", "ids"}]}`
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

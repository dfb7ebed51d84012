/// What was to reach a user at a time when nothing may: it waits, and goes out as one message.
///
/// The first message to wait comes with a notification that reminds of it when the time is over; whoever delivers
/// that one releases all that waits by then.
package struct HeldMessages: Equatable, Sendable {
    package struct Message: Equatable, Sendable {
        /// By which its sender knows it; of a merged one, the newest one's.
        package let id: String
        /// By what users turn it off; `nil` where it was held before that was kept.
        package let kind: String?
        package let payload: JSONObject
        package let collapseID: String?
        /// The one device that it is for; `nil` for all that the user has when it is released.
        package let device: String?
        /// How many devices it was accepted for.
        package let count: Int64
        package let expires: Timestamp

        package init(
            id: String, kind: String? = nil, payload: JSONObject, collapseID: String?,
            device: String? = nil,
            count: Int64 = 1, expires: Timestamp
        ) {
            self.id = id
            self.kind = kind
            self.payload = payload
            self.collapseID = collapseID
            self.device = device
            self.count = count
            self.expires = expires
        }

        /// Whether it takes the place of an earlier one.
        fileprivate func replaces(_ earlier: Message) -> Bool {
            guard earlier.id != id else { return earlier.device == device }
            return collapseID != nil && earlier.collapseID == collapseID && earlier.device == device
        }
    }

    /// What waits no longer: a notification brings it, and while that is not over, it stays here.
    package struct Release: Equatable, Sendable {
        /// Of the notification.
        package let id: String
        package let message: Message
        /// Of the messages that went into it.
        package let messageIDs: [String]
    }

    /// More than this are only counted, the oldest first.
    static let most = 20
    /// More than this are not known by their ids any more.
    static let mostIDs = 500

    /// The newest last.
    package private(set) var messages: [Message] = []
    /// How many more there were.
    package private(set) var uncounted: Int64 = 0
    /// Of all that waits, and of what gave way to it.
    package private(set) var messageIDs: [String] = []
    /// When there is a notification that reminds of them.
    package private(set) var due: Timestamp?
    package private(set) var releases: [Release] = []

    package init() {}

    /// Adds a message; one with the same id or collapse id gives way to it.
    ///
    /// - Parameter moment: when nothing need wait any more.
    /// - Returns: whether a notification has to remind of it then.
    package mutating func add(_ message: Message, until moment: Timestamp) -> Bool {
        messages.removeAll { message.replaces($0) }
        messages.append(message)
        if messages.count > Self.most {
            messages.removeFirst()
            uncounted += 1
        }
        messageIDs.removeAll { $0 == message.id }
        messageIDs = messageIDs.suffix(Self.mostIDs - 1) + [message.id]
        guard due != moment else { return false }
        due = moment
        return true
    }

    /// Forgets messages that are not wanted any more, and gives them.
    package mutating func remove(_ isGone: (Message) -> Bool) -> [Message] {
        let gone = messages.filter(isGone)
        let ids = Set(gone.map { $0.id })
        messages.removeAll { ids.contains($0.id) }
        messageIDs.removeAll { ids.contains($0) }
        return gone
    }

    /// Forgets messages that were called off.
    package mutating func remove(where isCalledOff: (_ id: String) throws(Failure) -> Bool)
        throws(Failure)
    {
        var gone: Set<String> = []
        for message in messages where try isCalledOff(message.id) { gone.insert(message.id) }
        messages.removeAll { gone.contains($0.id) }
        messageIDs.removeAll { gone.contains($0) }
    }

    /// Lets all that waits go: with one notification what is for all of the user's devices, with one for each device
    /// what is for that one only.
    ///
    /// - Parameter id: the notification's id, made from that of the newest message it brings and the device it is for.
    package mutating func release(as id: (_ newest: String, _ device: String?) -> String) {
        var targets: [String?] = []
        for message in messages where !targets.contains(message.device) {
            targets.append(message.device)
        }
        for target in targets {
            let group = messages.filter { $0.device == target }
            let others = messages.filter { $0.device != target }.map { $0.id }
                .filter { id in !group.contains { $0.id == id } }
            // The ids of replaced messages go with the release to all devices, or with the first one.
            let isMain = target == nil || !targets.contains(nil) && target == targets[0]
            let ids =
                isMain
                ? messageIDs.filter { !others.contains($0) } : group.map { $0.id }
            let more = isMain ? uncounted : 0
            guard let merged = Self.merged(group, and: more) else { continue }
            releases.append(
                Release(id: id(merged.id, target), message: merged, messageIDs: ids))
        }
        messages = []
        uncounted = 0
        messageIDs = []
        due = nil
    }

    /// Forgets what a notification brought: it is over.
    package mutating func finish(_ id: String) { releases.removeAll { $0.id == id } }

    /// One message in the place of several: the newest one's, but that it says how many there are and what they
    /// are called. A single one stays as it was.
    private static func merged(_ messages: [Message], and uncounted: Int64) -> Message? {
        guard let newest = messages.last else { return nil }
        let count = Int64(messages.count) + uncounted
        guard count > 1 else { return newest }
        var payload = newest.payload
        var aps = payload["aps"]?.object ?? [:]
        let names = messages.reversed().compactMap { $0.name }
        aps["alert"] = [
            "title": .string("\(count) new notifications"),
            "body": .string(names.prefix(3).joined(separator: "\n")),
        ]
        // Its actions would be for one of them only.
        aps["category"] = nil
        aps["mutable-content"] = nil
        let threads = messages.map { $0.payload["aps"]?.object?["thread-id"] }
        if threads.contains(where: { $0 != threads[0] }) { aps["thread-id"] = nil }
        payload["aps"] = .object(aps)
        payload["merged"] = .integer(count)
        let expires = messages.map { $0.expires }.max() ?? newest.expires
        return Message(
            id: newest.id, kind: newest.kind, payload: payload, collapseID: nil,
            device: newest.device,
            count: newest.count, expires: expires)
    }
}

extension HeldMessages.Message {
    /// What it is about, in a line.
    fileprivate var name: String? {
        let alert = payload["aps"]?.object?["alert"]
        if let text = alert?.string { return text }
        let title = alert?.object?["title"]?.string
        let body = alert?.object?["body"]?.string
        guard let title, let body else { return title ?? body }
        return "\(title): \(body)"
    }
}

extension HeldMessages {
    /// Reads the form that ``json`` writes; `nil` where it is none.
    package init?(_ json: JSONValue) {
        guard let members = json.object else { return nil }
        for element in members["messages"]?.array ?? [] {
            guard let message = Message(element) else { return nil }
            messages.append(message)
        }
        uncounted = members["uncounted"]?.integer ?? 0
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
            let message = members["message"].flatMap(HeldMessages.Message.init)
        else { return nil }
        self.init(id: id, message: message, messageIDs: members["ids"]?.texts ?? [])
    }

    fileprivate var json: JSONValue {
        ["id": .string(id), "message": message.json, "ids": JSONValue(texts: messageIDs)]
    }
}

extension HeldMessages.Message {
    fileprivate init?(_ json: JSONValue) {
        guard let members = json.object, let id = members["id"]?.string,
            let payload = members["payload"]?.object, let expires = members["expires_at"]?.timestamp
        else { return nil }
        self.init(
            id: id, kind: members["kind"]?.string, payload: payload,
            collapseID: members["collapse_id"]?.string,
            device: members["device_id"]?.string, count: members["devices"]?.integer ?? 1,
            expires: expires)
    }

    fileprivate var json: JSONValue {
        var members: JSONObject = ["id": .string(id)]
        members["kind"] = kind.map { .string($0) }
        members["payload"] = .object(payload)
        members["collapse_id"] = collapseID.map { .string($0) }
        members["device_id"] = device.map { .string($0) }
        members["devices"] = count == 1 ? nil : .integer(count)
        members["expires_at"] = JSONValue(expires)
        return .object(members)
    }
}

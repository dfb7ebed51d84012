/// What was to reach a user at a time when nothing may: it waits, and goes out as one message.
///
/// The first message to wait comes with a notification that is due when the time is over; whoever delivers that
/// one takes all that waits by then.
package struct HeldMessages: Equatable, Sendable {
    package struct Message: Equatable, Sendable {
        /// By which its sender knows it; of a merged one, the newest one's.
        package let id: String
        package let payload: JSONObject
        package let collapseID: String?
        package let expires: Timestamp

        package init(id: String, payload: JSONObject, collapseID: String?, expires: Timestamp) {
            self.id = id
            self.payload = payload
            self.collapseID = collapseID
            self.expires = expires
        }
    }

    /// More than this are only counted, the oldest first.
    static let most = 20

    /// The newest last.
    package private(set) var messages: [Message] = []
    /// How many more there were.
    package private(set) var uncounted: Int64 = 0
    /// The notification that takes them, and what it took.
    package private(set) var carrier: String?
    package private(set) var taken: Message?

    package init() {}

    package var isEmpty: Bool { messages.isEmpty && taken == nil }

    /// Adds a message; one with the same id or collapse id gives way to it.
    ///
    /// - Parameter id: of the notification that carries the messages, where that has to be a new one.
    /// - Returns: whether it has to be.
    package mutating func add(_ message: Message, id: String) -> Bool {
        messages.removeAll { $0.id == message.id }
        if let same = message.collapseID { messages.removeAll { $0.collapseID == same } }
        messages.append(message)
        if messages.count > Self.most {
            messages.removeFirst()
            uncounted += 1
        }
        guard carrier == nil || taken != nil else { return false }
        carrier = id
        taken = nil
        return true
    }

    /// Forgets messages that were called off.
    package mutating func remove(where isCalledOff: (_ id: String) throws(Failure) -> Bool)
        throws(Failure)
    {
        guard taken == nil else { return }
        var rest: [Message] = []
        for message in messages where try !isCalledOff(message.id) { rest.append(message) }
        messages = rest
    }

    /// What a notification is to send now that it is due; `nil` where it has nothing to send.
    ///
    /// Asked again, it answers the same until another message was held.
    package mutating func take(by id: String, now: Timestamp) -> Message? {
        guard carrier == id else { return nil }
        if let taken { return taken }
        messages.removeAll { $0.expires <= now }
        taken = merged
        messages = []
        uncounted = 0
        return taken
    }

    /// One message in the place of several: the newest one's, but that it says how many there are and what they
    /// are called. A single one stays as it was.
    private var merged: Message? {
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
        return Message(id: newest.id, payload: payload, collapseID: nil, expires: expires)
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
        carrier = members["carrier"]?.string
        if let taken = members["taken"] {
            guard let message = Message(taken) else { return nil }
            self.taken = message
        }
    }

    /// `{"messages": [{"id", "payload", "collapse_id"?, "expires_at"}], "uncounted", "carrier", "taken"?}`
    package var json: JSONValue {
        var members: JSONObject = ["messages": .array(messages.map { $0.json })]
        if uncounted > 0 { members["uncounted"] = .integer(uncounted) }
        members["carrier"] = carrier.map { .string($0) }
        members["taken"] = taken.map { $0.json }
        return .object(members)
    }
}

extension HeldMessages.Message {
    fileprivate init?(_ json: JSONValue) {
        guard let members = json.object, let id = members["id"]?.string,
            let payload = members["payload"]?.object, let expires = members["expires_at"]?.timestamp
        else { return nil }
        self.init(
            id: id, payload: payload, collapseID: members["collapse_id"]?.string, expires: expires)
    }

    fileprivate var json: JSONValue {
        var members: JSONObject = ["id": .string(id), "payload": .object(payload)]
        members["collapse_id"] = collapseID.map { .string($0) }
        members["expires_at"] = JSONValue(expires)
        return .object(members)
    }
}

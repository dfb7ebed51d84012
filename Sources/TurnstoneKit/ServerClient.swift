import Foundation

/// The routes that an app's own backend calls with the server key.
///
/// ```swift
/// let client = ServerClient(at: URL(string: "https://push.example.org")!, key: key)
/// let message = try await client.send(Message(title: "News"), to: Audience(users: ["ann"]))
/// let report = try await client.report(on: message.id)
/// ```
///
/// The key belongs into the backend's configuration. An app must never have it: it can push to everyone.
public struct ServerClient: Sendable {
    let connection: Connection

    /// - Parameters:
    ///   - base: the installation's address, with the prefix under which it is mounted.
    ///   - key: one of the installation's `TURNSTONE_SERVER_KEY`.
    ///   - transport: share one between many clients (``DefaultTransport``).
    public init(
        at base: URL, key: String, transport: any Transport = DefaultTransport(),
        patience: Patience = Patience()
    ) {
        connection = Connection(
            base: base, credential: { ("Authorization", "Key \(key)") }, transport: transport,
            patience: patience)
    }

    /// Pushes a message.
    ///
    /// - Parameter idempotencyKey: a text that only this message has. A request that is repeated with it
    ///   within 24 hours, for instance because its answer was lost, sends nothing and is answered as before.
    /// - Throws: also ``TurnstoneError/later(after:_:)`` for ``Audience/everyone``, segments and filters, while the
    ///   installation makes the index of its users: a minute or so for a million. Nothing was sent; send it
    ///   again.
    public func send(
        _ message: Message, to audience: Audience, idempotencyKey: String? = nil
    ) async throws(TurnstoneError) -> AcceptedMessage {
        try await accept("api/notify", message.members, audience, idempotencyKey)
    }

    /// Pushes a message that one of the installation's templates makes from an event.
    ///
    /// - Parameter values: what replaces the template's placeholders.
    public func send(
        event: String, values: [String: JSONValue] = [:], to audience: Audience,
        idempotencyKey: String? = nil
    ) async throws(TurnstoneError) -> AcceptedMessage {
        let members = ["event": JSONValue.string(event), "values": .object(values)]
        return try await accept("api/events", members, audience, idempotencyKey)
    }

    private func accept(
        _ path: String, _ members: [String: JSONValue], _ audience: Audience,
        _ idempotencyKey: String?
    ) async throws(TurnstoneError) -> AcceptedMessage {
        var body = members.merging(audience.members) { $1 }
        if let idempotencyKey { body["idempotency_key"] = .string(idempotencyKey) }
        return try await connection.value("POST", path, body: body)
    }

    /// An event for which the installation has a template.
    public struct Event: Decodable, Hashable, Sendable {
        public let event: String
        /// The kind by which users turn it off.
        public let kind: String
        /// The names of the values that it needs, and of those it may have.
        public let required: [String]
        public let optional: [String]
    }

    /// The events that have templates, and a sentence for each template that is damaged.
    public struct Events: Decodable, Hashable, Sendable {
        public let events: [Event]
        public let problems: [String]
    }

    public func events() async throws(TurnstoneError) -> Events {
        try await connection.value("GET", "api/events")
    }

    /// Estimates how many a message would reach.
    ///
    /// - Throws: also ``TurnstoneError/later(after:_:)`` while the installation makes the index of its users.
    public func count(_ audience: Audience) async throws(TurnstoneError) -> AudienceCount {
        try await connection.value("POST", "api/notify/count", body: audience.members)
    }

    /// What became of a message. Reports are kept for 30 days.
    public func report(on message: String) async throws(TurnstoneError) -> MessageReport {
        try await connection.value("GET", "api/notify/\(try Connection.encoded(message))")
    }

    /// Cancels deliveries of a message that have not been sent.
    ///
    /// - Throws: ``TurnstoneError/conflict(_:)`` if all of it was sent already.
    @discardableResult
    public func cancel(_ message: String) async throws(TurnstoneError) -> MessageReport {
        try await connection.value("DELETE", "api/notify/\(try Connection.encoded(message))")
    }

    private struct UserAnswer: Decodable { let user: KnownUser }
    private struct ErasureAnswer: Decodable { let erased: Erasure }

    /// What the installation knows of a user.
    ///
    /// - Throws: ``TurnstoneError/notFound(_:)`` if it knows nobody of this id.
    public func user(_ id: String) async throws(TurnstoneError) -> KnownUser {
        let path = "api/users/\(try Connection.encoded(id))"
        return try Self.user(in: try await connection.send("GET", path))
    }

    private static func user(in answer: HTTPAnswer) throws(TurnstoneError) -> KnownUser {
        var user = try Connection.read(answer, as: UserAnswer.self).user
        user.tag = answer.headers["etag"]
        return user
    }

    /// Changes what is known of a user, who need not be known yet: only the members that are named, and
    /// `.null` removes a value.
    ///
    /// ```swift
    /// try await client.change("ann", ["tags": .object(["role": .string("admin")])])
    /// ```
    ///
    /// - Parameter known: the user as it was read. Nil: whatever is there changes.
    /// - Throws: ``TurnstoneError/changed(_:)`` if the profile has changed since `known` was read;
    ///   ``TurnstoneError/invalid(_:)`` if `known` has no tag or is another user;
    ///   ``TurnstoneError/conflict(_:)`` if another user has one of the aliases.
    @discardableResult
    public func change(
        _ user: String, _ changes: [String: JSONValue], since known: KnownUser? = nil
    ) async throws(TurnstoneError) -> KnownUser {
        let path = "api/users/\(try Connection.encoded(user))"
        var headers: [String: String] = [:]
        if let known {
            guard known.id == user else { throw .invalid("the profile is another user's") }
            headers["If-Match"] = try Profile.condition(known.tag)
        }
        return try Self.user(
            in: try await connection.send(
                "PATCH", path, body: changes, headers: headers, once: changes.beginsSession))
    }

    /// Erases a user everywhere, for instance when the account is closed.
    ///
    /// After a 503 it is repeated, and erases what is left. The numbers are those of the last attempt: what an
    /// earlier one erased is not in them. If nothing was left, they are all 0.
    @discardableResult
    public func erase(_ user: String) async throws(TurnstoneError) -> Erasure {
        let path = "api/users/\(try Connection.encoded(user))"
        guard let answer = try await connection.removal(path) else { return Erasure() }
        return try Connection.read(answer, as: ErasureAnswer.self).erased
    }

    private struct Badge: Decodable { let badge: Int }

    /// The number on a user's icon.
    public func badge(of user: String) async throws(TurnstoneError) -> Int {
        let query = "?userId=\(try Connection.encoded(user))"
        return try await connection.value("GET", "api/badge\(query)", as: Badge.self).badge
    }

    /// Sets the number on a user's icon; all devices get it silently.
    @discardableResult
    public func setBadge(_ number: Int, of user: String) async throws(TurnstoneError) -> Int {
        let body: [String: JSONValue] = ["userId": .string(user), "badge": .int(Int64(number))]
        return try await connection.value("PUT", "api/badge", as: Badge.self, body: body).badge
    }

    private struct SegmentAnswer: Decodable { let segment: Segment }
    private struct SegmentPage: Decodable {
        let total: Int
        let segments: [Segment]
    }

    /// All segments, oldest first.
    public func segments() async throws(TurnstoneError) -> [Segment] {
        var segments: [Segment] = []
        while true {
            let path = "api/segments?offset=\(segments.count)"
            let page = try await connection.value("GET", path, as: SegmentPage.self)
            let known = Set(segments.map(\.id))
            let new = page.segments.filter { !known.contains($0.id) }
            segments += new
            if new.isEmpty || segments.count >= page.total { return segments }
        }
    }

    /// - Throws: ``TurnstoneError/notFound(_:)`` if there is none of this id.
    public func segment(_ id: String) async throws(TurnstoneError) -> Segment {
        let path = "api/segments/\(try Connection.encoded(id))"
        return try await connection.value("GET", path, as: SegmentAnswer.self).segment
    }

    /// Makes a segment, to which messages can be sent by its name.
    public func makeSegment(
        _ name: String, filters: [JSONValue]
    ) async throws(TurnstoneError) -> Segment {
        let body: [String: JSONValue] = ["name": .string(name), "filters": .array(filters)]
        return try await connection.value(
            "POST", "api/segments", as: SegmentAnswer.self, body: body
        ).segment
    }

    /// Changes a segment's name, its filters or both.
    @discardableResult
    public func changeSegment(
        _ id: String, name: String? = nil, filters: [JSONValue]? = nil
    ) async throws(TurnstoneError) -> Segment {
        var body: [String: JSONValue] = [:]
        body["name"] = name.map { .string($0) }
        body["filters"] = filters.map { .array($0) }
        let path = "api/segments/\(try Connection.encoded(id))"
        return try await connection.value("PATCH", path, as: SegmentAnswer.self, body: body).segment
    }

    /// Removes a segment.
    ///
    /// - Throws: ``TurnstoneError/notFound(_:)`` if there is none of this id.
    public func removeSegment(_ id: String) async throws(TurnstoneError) {
        try await connection.remove("api/segments/\(try Connection.encoded(id))")
    }
}

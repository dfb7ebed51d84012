/// Whether an installation can do its work.
public struct Health: Hashable, Sendable {
    /// What keeps it from its work, or will.
    public struct Problem: Hashable, Sendable {
        /// `delivery stopped`, for instance.
        public let problem: String
        public let message: String
        /// What the operator should do.
        public let action: String
        /// The push service that the problem is with, if it is with one.
        public let service: String?
        /// All other members, such as `reason`, `since` and `files`, as the reference describes `GET /health`.
        public let details: [String: JSONValue]
    }

    public let isReady: Bool
    public let problems: [Problem]

    fileprivate init(_ answer: HTTPAnswer) throws(TurnstoneError) {
        let content = try Connection.read(answer, as: Content.self)
        isReady = answer.status != 503
        guard content.status == (isReady ? "ok" : "not ready") else {
            throw .unexpected("the status is \(content.status)")
        }
        problems = content.problems ?? []
    }

    /// Whether a 503 is the installation's account of its health, and not a refusal.
    fileprivate static func isNotReady(_ answer: HTTPAnswer) -> Bool {
        let content = try? Connection.read(answer, as: Content.self)
        return answer.status == 503 && content?.status == "not ready"
    }

    private struct Content: Decodable {
        let status: String
        let problems: [Problem]?
    }
}

extension Health.Problem: Decodable {
    private enum CodingKeys: String, CodingKey, CaseIterable {
        case problem, message, action, service
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        problem = try container.decode(String.self, forKey: .problem)
        message = try container.decode(String.self, forKey: .message)
        action = try container.decode(String.self, forKey: .action)
        service = try container.decodeIfPresent(String.self, forKey: .service)
        let own = Set(CodingKeys.allCases.map(\.rawValue))
        details = try [String: JSONValue](from: decoder).filter { !own.contains($0.key) }
    }
}

extension ServerClient {
    /// Whether the installation can do its work, and if not, why. An answer that says so is no error; a 503 of
    /// something between is ``TurnstoneError/later(after:_:)``.
    public func health() async throws(TurnstoneError) -> Health {
        try Health(
            try await connection.send(
                "GET", "health", accepting: { answer, _ in Health.isNotReady(answer) }))
    }

    /// What the operator's page shows: problems, cycles, queues, pushes and devices, as the reference describes
    /// `GET /api/status`.
    public func status() async throws(TurnstoneError) -> [String: JSONValue] {
        try await connection.document("api/status")
    }

    /// A user's timeline, and why no push came, as the reference describes `GET /api/status/{user}`.
    ///
    /// - Parameters:
    ///   - place: the `next` of the page before. Nil: the newest events.
    ///   - limit: at most this many events, 1 to 500.
    public func status(
        of user: String, after place: String? = nil, limit: Int = 100
    ) async throws(TurnstoneError) -> [String: JSONValue] {
        let after =
            try place.map { (place) throws(TurnstoneError) in
                "&after=\(try Connection.encoded(place))"
            } ?? ""
        let user = try Connection.encoded(user)
        return try await connection.document("api/status/\(user)?limit=\(limit)\(after)")
    }
}

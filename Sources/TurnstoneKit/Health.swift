/// Whether an installation can do its work.
public struct Health: Hashable, Sendable {
    /// What keeps it from its work, or will.
    public struct Problem: Decodable, Hashable, Sendable {
        /// `delivery stopped`, for instance.
        public let problem: String
        public let message: String
        /// What the operator should do.
        public let action: String
        /// The push service that the problem is with, if it is with one.
        public let service: String?
    }

    public let isReady: Bool
    public let problems: [Problem]

    fileprivate init(_ answer: HTTPAnswer) throws(TurnstoneError) {
        struct Content: Decodable {
            let status: String
            let problems: [Problem]?
        }
        let content = try Connection.read(answer, as: Content.self)
        isReady = answer.status == 200
        guard content.status == (isReady ? "ok" : "not ready") else {
            throw .unexpected("the status is \(content.status)")
        }
        problems = content.problems ?? []
    }
}

extension ServerClient {
    public func health() async throws(TurnstoneError) -> Health {
        // Its 503 is not a refusal.
        try Health(try await connection.once("GET", "health", accepting: [200, 503]))
    }

    /// What the operator's page shows: problems, cycles, queues, pushes and devices, as the reference describes
    /// `GET /api/status`.
    public func status() async throws(TurnstoneError) -> [String: JSONValue] {
        try await connection.document("api/status")
    }

    /// A user's timeline, and why no push came, as the reference describes `GET /api/status/{user}`.
    public func status(of user: String) async throws(TurnstoneError) -> [String: JSONValue] {
        try await connection.document("api/status/\(try Connection.encoded(user))")
    }
}

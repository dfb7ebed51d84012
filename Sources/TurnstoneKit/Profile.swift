private struct ProfileAnswer: Decodable { let profile: [String: JSONValue] }

extension Connection {
    func profile() async throws(TurnstoneError) -> [String: JSONValue] {
        try await value("GET", "api/profile", as: ProfileAnswer.self).profile
    }

    func changeProfile(_ changes: [String: JSONValue]) async throws(TurnstoneError)
        -> [String: JSONValue]
    {
        try await value("PATCH", "api/profile", as: ProfileAnswer.self, body: changes).profile
    }
}

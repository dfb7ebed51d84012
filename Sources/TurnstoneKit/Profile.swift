/// What is known of a user, and the state in which it was read.
public struct Profile: Hashable, Sendable {
    /// Aliases, tags, language and so on, as the reference describes `GET /api/profile`.
    public let members: [String: JSONValue]
    /// The state. Nil: the answer did not say it, and a change since this profile changes whatever is there.
    public let tag: String?
}

private struct ProfileAnswer: Decodable { let profile: [String: JSONValue] }

extension Connection {
    func profile() async throws(TurnstoneError) -> Profile {
        try Self.profile(in: try await send("GET", "api/profile"))
    }

    func changeProfile(
        _ changes: [String: JSONValue], since profile: Profile? = nil
    ) async throws(TurnstoneError) -> Profile {
        let headers = profile?.tag.map { ["If-Match": $0] } ?? [:]
        return try Self.profile(
            in: try await send("PATCH", "api/profile", body: changes, headers: headers))
    }

    private static func profile(in answer: HTTPAnswer) throws(TurnstoneError) -> Profile {
        Profile(
            members: try read(answer, as: ProfileAnswer.self).profile, tag: answer.headers["etag"])
    }
}

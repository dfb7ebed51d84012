/// What is known of a user, and the state in which it was read.
public struct Profile: Hashable, Sendable {
    /// Aliases, tags, language and so on, as the reference describes `GET /api/profile`.
    public let members: [String: JSONValue]
    /// The state, an ETag. Nil: the answer did not have it, and no change since this profile is possible.
    public let tag: String?

    /// The value of `If-Match` for a change since a profile with this tag.
    static func condition(_ tag: String?) throws(TurnstoneError) -> String {
        guard let tag else { throw .invalid("the profile has no tag") }
        return tag
    }
}

extension [String: JSONValue] {
    /// Whether these changes of a profile count a session, which must not be counted twice.
    var beginsSession: Bool { self["session"] != nil }
}

private struct ProfileAnswer: Decodable { let profile: [String: JSONValue] }

extension Connection {
    func profile() async throws(TurnstoneError) -> Profile {
        try Self.profile(in: try await send("GET", "api/profile"))
    }

    func changeProfile(
        _ changes: [String: JSONValue], since profile: Profile? = nil
    ) async throws(TurnstoneError) -> Profile {
        var headers: [String: String] = [:]
        if let profile { headers["If-Match"] = try Profile.condition(profile.tag) }
        return try Self.profile(
            in: try await send(
                "PATCH", "api/profile", body: changes, headers: headers, once: changes.beginsSession
            ))
    }

    private static func profile(in answer: HTTPAnswer) throws(TurnstoneError) -> Profile {
        Profile(
            members: try read(answer, as: ProfileAnswer.self).profile, tag: answer.headers["etag"])
    }
}

extension JSONObject {
    /// The members merged with those of `other`, which win. Objects are merged member by member, and `null`
    /// removes a member (RFC 7396).
    package func merged(with other: JSONObject) -> JSONObject {
        var merged = self
        for member in other.members {
            switch member.value {
            case .null: merged[member.name] = nil
            case .object(let inner):
                let base = merged[member.name]?.object ?? [:]
                merged[member.name] = .object(base.merged(with: inner))
            default: merged[member.name] = member.value
            }
        }
        return merged
    }
}

extension JSONObject {
    /// Adds the counts of another summary to these. Its members that are not integers are ignored.
    package func sum(with other: JSONObject) -> JSONObject {
        var sums = self
        for member in other.members {
            guard let count = member.value.integer else { continue }
            sums[member.name] = .integer((sums[member.name]?.integer ?? 0).saturatingAdd(count))
        }
        return sums
    }
}

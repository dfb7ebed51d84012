extension JSONObject {
    /// The sums of the counts of two summaries. Members that are not integers are left out of the other one.
    package func sum(with other: JSONObject) -> JSONObject {
        var sums = self
        for member in other.members {
            guard let count = member.value.integer else { continue }
            sums[member.name] = .integer((sums[member.name]?.integer ?? 0).saturatingAdd(count))
        }
        return sums
    }
}

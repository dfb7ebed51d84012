/// The players who are due, and in which order they are looked at.
///
/// Where OGS's schedule leaves time for some only, half of the places go to players who were looked at before, a quarter to new
/// ones and a quarter to those whose looks fail: a thousand players that OGS does not know delay nobody else.
struct Due {
    private typealias Entry = (claim: Claim, since: Int64)

    private var known: [Entry] = []
    private var new: [Entry] = []
    private var failing: [Entry] = []

    /// - Parameter since: orders the players of one kind, the lowest first: when they were last looked at, or were to be
    ///   looked at again.
    mutating func add(_ claim: Claim, since: Int64) {
        if claim.hasFailed {
            failing.append((claim, since))
        } else if since == 0 {
            new.append((claim, since))
        } else {
            known.append((claim, since))
        }
    }

    var inOrder: [Claim] {
        var known = Self.sorted(known)
        var new = new.map { $0.claim }[...]
        var failing = Self.sorted(failing)
        var order: [Claim] = []
        order.reserveCapacity(known.count + new.count + failing.count)
        while !known.isEmpty || !new.isEmpty || !failing.isEmpty {
            if let claim = new.popFirst() { order.append(claim) }
            order += known.prefix(2)
            known = known.dropFirst(2)
            if let claim = failing.popFirst() { order.append(claim) }
        }
        return order
    }

    private static func sorted(_ entries: [Entry]) -> ArraySlice<Claim> {
        entries.sorted { ($0.since, $0.claim.record) < ($1.since, $1.claim.record) }
            .map { $0.claim }[...]
    }
}

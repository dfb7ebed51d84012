import Turnstone

/// The players who are due, and the order in which they are looked at.
///
/// If OGS's schedule has room for only some of them, half of the places go to players who were looked at
/// before, a quarter to new players and a quarter to players whose looks fail. So a thousand players whom OGS
/// does not know delay nobody else.
struct Due {
    private typealias Entry = (claim: Claim, since: Timestamp)

    private var known: [Entry] = []
    private var new: [Entry] = []
    private var failing: [Entry] = []

    /// - Parameter since: orders the players of one group, lowest first: when they were last looked at or, if
    ///   their looks fail, when they may be looked at again.
    mutating func add(_ claim: Claim, since: Timestamp) {
        if claim.hasFailed {
            failing.append((claim, since))
        } else if since == .never {
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
        entries.sorted { ($0.since, $0.claim.place) < ($1.since, $1.claim.place) }
            .map { $0.claim }[...]
    }
}

import Documents
import Turnstone

/// The messages that changed a user's badge: all that may still be sent, and some that have ended. Each counts
/// once, and one that no device accepts is taken back.
package struct BadgeMessages: Equatable, Sendable {
    /// The oldest first.
    package private(set) var ids: [String] = []
    /// How many of the oldest have nothing to take back, because the number was replaced since.
    private var settled = 0
    /// The change that a message really made, if the number met its limit, by the message's id.
    private var limited = JSONObject()

    /// The highest order of a message that has set the number.
    private var lastSet: Int64 = 0

    /// How many were left when those that had ended were last forgotten.
    private var kept = 0

    package init() {}

    package func contains(_ id: String) -> Bool { ids.contains(id) }

    /// Records a message, and that it added `number`.
    mutating func append(_ id: String, added number: Int64, of change: BadgeChange) {
        ids.append(id)
        switch change {
        case .set: settle()
        case .add(number): break
        case .add: limited[id] = .integer(number)
        }
    }

    /// Records that a message sets the number.
    ///
    /// - Returns: `false` if a newer one has set it already.
    mutating func advance(to order: Int64) -> Bool {
        guard order > lastSet else { return false }
        lastSet = order
        return true
    }

    /// Whether there are so many that it is time to forget those that have ended. Finding out which have takes
    /// longer the more there are, so their number has to double first.
    package var areMany: Bool { ids.count > 100 && ids.count / 2 >= kept }

    /// Forgets all messages but those that may still be sent or taken back.
    ///
    /// - Parameter open: the messages that the spool has.
    mutating func forget(allBut open: Set<String>) {
        for place in ids.indices.reversed() where !open.contains(ids[place]) {
            _ = remove(at: place)
        }
        kept = ids.count
    }

    /// Records that the number was replaced: no message is part of it any more.
    mutating func settle() {
        settled = ids.count
        limited = JSONObject()
    }

    /// Forgets a message.
    ///
    /// - Returns: what it had added to the present number; `nil` if it is not known.
    mutating func take(_ id: String, of change: BadgeChange) -> Int64? {
        guard case .add(let number) = change, let place = ids.firstIndex(of: id) else { return nil }
        // A stored number may be anything.
        return remove(at: place).map { min(max($0, -BadgeChange.maximum), BadgeChange.maximum) }
            ?? number
    }

    /// - Returns: what the message had added, if that is not what its change says.
    private mutating func remove(at place: Int) -> Int64? {
        let id = ids.remove(at: place)
        let added = limited[id]?.integer
        limited[id] = nil
        guard place < settled else { return added }
        settled -= 1
        return 0
    }

    /// Reads the members that ``write(to:)`` wrote.
    init(taking members: inout Members) {
        ids = members.take("badge_by")?.texts ?? []
        settled = min(max(Int(clamping: members.take("badge_settled")?.integer ?? 0), 0), ids.count)
        limited = members.take("badge_added")?.object ?? JSONObject()
        kept = Int(clamping: members.take("badge_kept")?.count ?? 0)
        lastSet = members.take("badge_set_by")?.integer ?? 0
    }

    func write(to members: inout JSONObject) {
        members["badge_by"] = ids.isEmpty ? nil : JSONValue(texts: ids)
        members["badge_settled"] = settled == 0 ? nil : .integer(Int64(settled))
        members["badge_added"] = limited.members.isEmpty ? nil : .object(limited)
        members["badge_kept"] = kept == 0 ? nil : .integer(Int64(kept))
        members["badge_set_by"] = lastSet == 0 ? nil : .integer(lastSet)
    }
}

import Crypto
import Turnstone

/// The subject that a notification is a state of, and its place among that subject's states. A device never
/// gets an older state after a newer one.
package struct Series: Equatable, Sendable {
    /// Digests of what the notification shares with others, such as its collapse id and its subject: 32 hex
    /// digits each.
    package let keys: [String]
    /// The only user that the notification is for, by the user's first id, as 32 hex digits, or `all`.
    /// Notifications to other users cannot replace it and need not be checked.
    package let scope: String
    package internal(set) var order: Order
    /// Whether it is valid from a later moment than its acceptance.
    let isScheduled: Bool

    /// - Parameters:
    ///   - names: what it shares with others, such as a collapse id.
    ///   - user: the only user, by the first id that the user had.
    package init(_ names: [String], of user: UserID?, order: Order, isScheduled: Bool = false) {
        keys = names.map(digest)
        self.isScheduled = isScheduled
        scope = user.map { digest($0.text) } ?? Self.everybody
        self.order = order
    }

    static let everybody = "all"

    /// Whether it replaces `other` on a device that has accepted `other`.
    package func replaces(_ other: Series) -> Bool {
        order > other.order && keys.contains { other.keys.contains($0) }
    }

    /// The moment from which a state is valid, and for states with the same moment the time of acceptance.
    package struct Order: Hashable, Comparable, Sendable {
        /// Milliseconds since 1970.
        let moment: Int64
        /// The time of acceptance by the system's clock, in nanoseconds since 1970.
        let accepted: Int64

        package init(from moment: Timestamp, accepted: Int64) {
            self.moment = moment.milliseconds
            self.accepted = accepted
        }

        package static func < (left: Order, right: Order) -> Bool {
            (left.moment, left.accepted) < (right.moment, right.accepted)
        }
    }
}

extension Series {
    /// Reads the form that ``json`` writes; `nil` for any other value.
    init?(_ json: JSONValue) {
        guard let members = json.object, let key = members["key"]?.string,
            let scope = members["scope"]?.string, isDigest(scope) || scope == Self.everybody,
            let moment = members["from"]?.integer, let accepted = members["accepted"]?.integer
        else { return nil }
        keys = [key] + (members["more_keys"]?.texts ?? [])
        guard keys.allSatisfy(isDigest) else { return nil }
        self.scope = scope
        isScheduled = members["scheduled"]?.bool ?? false
        order = Order(from: Timestamp(milliseconds: moment), accepted: accepted)
    }

    /// `{"key", "more_keys"?, "scope", "from", "accepted", "scheduled"?}`.
    var json: JSONValue {
        var members: JSONObject = ["key": .string(keys.first ?? "")]
        members["more_keys"] = keys.count > 1 ? JSONValue(texts: Array(keys.dropFirst())) : nil
        members["scope"] = .string(scope)
        members["from"] = .integer(order.moment)
        members["accepted"] = .integer(order.accepted)
        members["scheduled"] = isScheduled ? true : nil
        return .object(members)
    }

    /// The same series after everything that was accepted before, even if the clock was set back since.
    func following(_ earlier: [SeriesMark]) -> Series {
        guard !isScheduled,
            let last = earlier.filter({ !$0.isScheduled }).map({ $0.order }).max(), last >= order
        else { return self }
        var series = self
        series.order = Order(
            from: Timestamp(milliseconds: last.moment), accepted: last.accepted &+ 1)
        return series
    }
}

private func digest(_ text: String) -> String {
    hex(SHA256.hash(Array(text.utf8)).prefix(16))
}

private func isDigest(_ text: String) -> Bool {
    text.utf8.count == 32 && text.utf8.allSatisfy(isHexDigit)
}

private func isHexDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
        || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
}

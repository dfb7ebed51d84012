import Crypto
import Turnstone

/// What a notification is a state of, and which of several states is the newer one: on a device an older one
/// never follows a newer one.
package struct Series: Equatable, Sendable {
    /// What the notification has in common with others, such as its collapse id and its subject: 32 hex
    /// digits for each.
    package let keys: [String]
    /// The one user that the notification is for, as 32 hex digits, or `all`: what is for others cannot
    /// replace it, and need not be looked at.
    package let scope: String
    package internal(set) var order: Order
    /// Whether it holds from a later moment than its acceptance.
    let isScheduled: Bool

    /// - Parameter names: what it has in common with others, such as a collapse id.
    package init(_ names: [String], of user: UserID?, order: Order, isScheduled: Bool = false) {
        keys = names.map(digest)
        self.isScheduled = isScheduled
        scope = user.map { digest($0.text) } ?? Self.everybody
        self.order = order
    }

    static let everybody = "all"

    /// Whether it takes the place of another one on a device that has taken that.
    package func replaces(_ other: Series) -> Bool {
        order > other.order && keys.contains { other.keys.contains($0) }
    }

    /// When a state holds from, and which of two that hold from the same moment was accepted first.
    package struct Order: Hashable, Comparable, Sendable {
        /// Milliseconds since 1970.
        let moment: Int64
        /// Nanoseconds since 1970 by the system's clock, when it was accepted.
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
    /// Reads the form that ``json`` writes; `nil` for any other.
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

    /// The same behind all that was accepted before it, whatever a clock said that has been set back since.
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

import Crypto
import Turnstone

/// What a notification is a state of, and which of several states is the newer one: on a device an older one never
/// follows a newer one.
package struct Series: Equatable, Sendable {
    /// Tells series apart: 32 hex digits.
    package let key: String
    /// The one user that the notification is for, as 32 hex digits, or `all`: what is for others cannot replace it, and
    /// need not be looked at.
    package let scope: String
    package internal(set) var order: Order
    /// Whether it holds from a later moment than its acceptance.
    let isScheduled: Bool

    /// - Parameter name: what its notifications have in common, such as a collapse id.
    package init(_ name: String, of user: UserID?, order: Order, isScheduled: Bool = false) {
        key = digest(name)
        self.isScheduled = isScheduled
        scope = user.map { digest($0.text) } ?? Self.everybody
        self.order = order
    }

    static let everybody = "all"

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
        guard let members = json.object, let key = members["key"]?.string, isDigest(key),
            let scope = members["scope"]?.string, isDigest(scope) || scope == Self.everybody,
            let moment = members["from"]?.integer, let accepted = members["accepted"]?.integer
        else { return nil }
        self.key = key
        self.scope = scope
        isScheduled = members["scheduled"]?.bool ?? false
        order = Order(from: Timestamp(milliseconds: moment), accepted: accepted)
    }

    /// `{"key", "scope", "from", "accepted", "scheduled"?}`.
    var json: JSONValue {
        var members: JSONObject = [
            "key": .string(key), "scope": .string(scope), "from": .integer(order.moment),
            "accepted": .integer(order.accepted),
        ]
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

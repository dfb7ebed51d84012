import Turnstone

/// A list of conditions, of which those between two `OR` must all hold: `AND` binds tighter.
///
/// As JSON: `[{"field": "tag", "key": "role", "relation": "=", "value": "admin"}, {"operator": "OR"}, …]`.
/// Between two conditions without an operator is an `AND`.
package struct Filter: Equatable, Sendable {
    /// At least one of them must hold: all conditions of one.
    private let alternatives: [[Condition]]
    /// The list as it was given.
    package let json: JSONValue

    /// The most conditions and operators of a filter.
    package static let most = 200
    /// The most values of an `in`.
    package static let mostValues = 100

    /// - Parameter name: the member that has the list, for sentences.
    /// - Throws: malformed for a wrong form, unacceptable for a value that cannot be compared.
    @export(interface)
    package init(_ json: JSONValue, named name: String = "filters") throws(Failure) {
        guard let list = json.array, !list.isEmpty else {
            throw .malformed("\(name) must be an array of at least one condition")
        }
        guard list.count <= Self.most else {
            throw .unacceptable(
                "\(name) must have at most \(Self.most) elements, not \(list.count)")
        }
        var alternatives: [[Condition]] = [[]]
        var expectsCondition = true
        for (place, element) in list.enumerated() {
            var members = try ConditionMembers(element, "\(name)[\(place)]")
            if let isOr = try members.operator() {
                guard !expectsCondition else {
                    throw .unacceptable("\(name)[\(place)]: an operator must follow a condition")
                }
                expectsCondition = true
                if isOr { alternatives.append([]) }
            } else {
                expectsCondition = false
                alternatives[alternatives.count - 1].append(try members.condition())
            }
            try members.finish()
        }
        guard !expectsCondition else {
            throw .unacceptable("\(name) must not end with an operator")
        }
        self.alternatives = alternatives
        self.json = json
    }

    /// The filter that means all devices of a platform.
    package init(_ platform: Platform) throws(Failure) {
        try self.init([
            ["field": "platform", "relation": "=", "value": .string(platform.rawValue)]
        ])
    }

    /// Whether a device of a user is meant.
    package func matches(_ facts: Facts, at now: Timestamp) -> Bool {
        alternatives.contains { $0.allSatisfy { $0.holds(for: facts, at: now) } }
    }

    /// Whether it may begin or cease to match while nothing about the user changes.
    package var dependsOnTime: Bool {
        alternatives.contains { $0.contains { $0.dependsOnTime } }
    }

    /// For each alternative, the tags that a user must have for it: a quick look at a text shows that most
    /// users do not have them.
    package var necessaryTags: [[(name: String, text: String?)]] {
        alternatives.map { $0.compactMap { $0.necessaryTag } }
    }

    package static func == (left: Filter, right: Filter) -> Bool {
        left.alternatives == right.alternatives
    }
}

/// Another system's name for a user, such as the number in a customer database: a label and an id.
///
/// At most one user has an alias. Two are equal if their bytes are.
package struct Alias: Sendable {
    /// 1 to 128 bytes without NUL.
    package let label: String
    /// 1 to 128 bytes without NUL.
    package let id: String

    /// How many aliases a user may have.
    package static let most = 20
    package static let longest = 128

    /// - Returns: `nil` if a part is too short or too long, or has a NUL.
    package init?(_ label: String, _ id: String) {
        guard Self.isPart(label), Self.isPart(id) else { return nil }
        self.label = label
        self.id = id
    }

    /// Whether a text may be a label or an id.
    package static func isPart(_ text: String) -> Bool {
        (1...longest).contains(text.utf8.count) && !text.utf8.contains(0)
    }
}

extension Alias: Equatable {
    package static func == (left: Alias, right: Alias) -> Bool {
        left.label.utf8.elementsEqual(right.label.utf8) && left.id.utf8.elementsEqual(right.id.utf8)
    }
}

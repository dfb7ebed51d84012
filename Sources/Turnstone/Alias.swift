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

    /// The labels that only OneSignal's routes give: a user's own id, and the id that they make.
    package static let externalID = "external_id"
    package static let ownID = "onesignal_id"

    /// Whether only OneSignal's routes give this label.
    package var isReserved: Bool {
        label.utf8.elementsEqual(Self.externalID.utf8) || label.utf8.elementsEqual(Self.ownID.utf8)
    }

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

import Crypto
import Turnstone

/// The box of the messages that are held for one device of a user.
package struct HeldBox: Equatable, Sendable {
    /// The name of the box's folder: digests of the user and the device, 24 hex digits each, with `-`
    /// between.
    package let name: String

    /// - Parameter user: by the id under which the message was accepted.
    package init(of user: UserID, _ device: String) {
        name = "\(Self.prefix(of: user))\(Self.digest(device))"
    }

    private init(name: String) { self.name = name }

    /// The prefix of the names of all of a user's boxes.
    static func prefix(of user: UserID) -> String { "\(digest(user.text))-" }

    /// The prefix of the name of a box, which all boxes of its user have.
    static func prefix(_ name: String) -> String {
        String(decoding: name.utf8.prefix { $0 != UInt8(ascii: "-") }, as: UTF8.self)
    }

    private static func digest(_ text: String) -> String {
        hex(SHA256.hash(Array(text.utf8)).prefix(12))
    }

    /// - Returns: `nil` if the name is not that of a box.
    init?(folder name: String) {
        guard name.utf8.count == 49, !name.utf8.contains(UInt8(ascii: ".")) else { return nil }
        self.init(name: name)
    }
}

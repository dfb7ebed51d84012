/// A country by its two letters, such as `DE` (ISO 3166-1 alpha-2). Only the form is checked.
package struct CountryCode: Equatable, Sendable {
    /// In upper case.
    package let text: String

    package init?(_ text: String) {
        guard text.utf8.count == 2, text.utf8.allSatisfy({ isLetter($0) }) else { return nil }
        self.text = String(decoding: text.utf8.map { $0 & 0xDF }, as: UTF8.self)
    }
}

import Turnstone

/// The value of a tag: a text or a number.
struct TagValue: Comparand {
    /// The text as given; of a number, its digits.
    private let text: String
    private let isNumber: Bool
    /// The number, if it is one or a text that looks like one.
    private let number: Decimal?

    /// The text, if only the same text fits.
    var onlyText: String? { number == nil ? text : nil }

    /// - Returns: `nil` for a value that is neither a string nor a number.
    init?(_ json: JSONValue) {
        switch json {
        case .string(let text):
            self.text = text
            isNumber = false
            number = Decimal(text, allowsExponent: false)
        case .integer(let integer):
            text = String(integer)
            isNumber = true
            number = Decimal(text, allowsExponent: false)
        case .number(let number):
            text = number.text
            isNumber = true
            self.number = Decimal(number.text, allowsExponent: true)
        default: return nil
        }
    }

    /// Two texts are compared as texts: `1.10` is another version than `1.1`. If either is a number, they
    /// are compared as numbers.
    func fits(_ stated: TagValue) -> Bool {
        guard isNumber || stated.isNumber else {
            return text.utf8.elementsEqual(stated.text.utf8)
        }
        guard let number, let other = stated.number else { return false }
        return number == other
    }

    /// Two numbers are compared as numbers, two texts that are no numbers byte by byte. A number is neither
    /// less nor greater than such a text.
    func isLess(than other: TagValue) -> Bool {
        switch (number, other.number) {
        case (let number?, let other?): number < other
        case (nil, nil): text.utf8.lexicographicallyPrecedes(other.text.utf8)
        default: false
        }
    }

    static func == (left: TagValue, right: TagValue) -> Bool {
        left.isNumber == right.isNumber && left.text.utf8.elementsEqual(right.text.utf8)
    }
}

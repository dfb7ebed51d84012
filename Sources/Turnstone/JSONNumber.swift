/// A JSON number with a fraction or an exponent, or `-0`. It is written digit for digit as it was read: no
/// double equals 19.99, and an app may distinguish 1.0 from 1.
package struct JSONNumber: Equatable, Sendable {
    /// The number as it stands in the JSON text (RFC 8259 section 6).
    package let text: String
    /// The nearest double.
    package let value: Double

    /// - Parameter text: a JSON number whose nearest double is `value`.
    package init(_ text: String, value: Double) {
        self.text = text
        self.value = value
    }

    /// A number of our own, written as short as it can be without becoming another one. It must be finite.
    package init(_ value: Double) {
        precondition(value.isFinite, "JSON has no such number")
        self.init("\(value)", value: value)
    }
}

extension JSONNumber: ExpressibleByFloatLiteral {
    package init(floatLiteral value: Double) { self.init(value) }
}

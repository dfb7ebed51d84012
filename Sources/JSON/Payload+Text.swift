import Turnstone

extension Payload {
    /// As it is sent: UTF-8, without blanks.
    package var text: [UInt8] { JSON.text(json) }

    /// Cuts the alert's text, if necessary down to nothing, until the payload fits. The cut is between two
    /// characters as a reader sees them, and `…` replaces the rest.
    ///
    /// - Parameter limit: the most bytes of its ``text``.
    /// - Returns: the payload itself if it fits; `nil` if it does not fit without its text either.
    package func cut(to limit: Int) -> Payload? { cut(to: limit) { $0.text.count } }

    /// The same for a push service with a form of its own.
    ///
    /// - Parameter size: returns the number of bytes that a payload has in that form, where the alert's text
    ///   is a JSON string.
    package func cut(to limit: Int, size: (Payload) -> Int) -> Payload? {
        guard size(self) > limit else { return self }
        guard let alert = alertText else { return nil }
        var room = limit - size(with(alertText: "…"))
        guard room >= 0 else { return nil }
        var end = alert.startIndex
        while end < alert.endIndex {
            let next = alert.index(after: end)
            // Characters are encoded one by one; two bytes are the quotes.
            room -= JSON.text(.string(String(alert[end..<next]))).count - 2
            guard room >= 0 else { break }
            end = next
        }
        return with(alertText: String(alert[..<end]) + "…")
    }
}

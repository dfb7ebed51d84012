import Turnstone

/// Converts JSON text to values and back.
package enum JSON {
    /// The deepest nesting that is accepted in input from outside.
    package static let depthLimit = 64
    /// The same for our own files, which hold input from outside some levels further down.
    package static let storedDepthLimit = 256

    /// Parses a text that consists of one JSON value (RFC 8259).
    ///
    /// Refuses duplicate members, invalid UTF-8, NUL in texts, integers beyond 64 bits, numbers beyond a
    /// double, and nesting beyond `depthLimit`.
    @export(interface)
    package static func parse(
        _ text: [UInt8], depthLimit: Int = JSON.depthLimit
    ) throws(JSONError) -> JSONValue {
        var scanner = JSONScanner(text)
        do throws(JSONScanner.Malformed) {
            let value = try scanner.value(depthLimit: depthLimit)
            guard scanner.isAtEnd() else { throw scanner.malformed() }
            return value
        } catch {
            throw JSONError(error, of: text)
        }
    }

    /// Writes a value on one line as UTF-8, with its members in their order. ``parse(_:depthLimit:)`` can
    /// read it again.
    @export(interface)
    package static func text(_ value: JSONValue) -> [UInt8] {
        var writer = Writer()
        writer.write(value)
        return writer.bytes
    }
}

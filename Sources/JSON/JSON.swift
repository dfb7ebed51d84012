import CJansson
import Turnstone

/// Converts JSON text to values, by jansson, and back. For small documents: jansson takes 19 µs per kilobyte.
package enum JSON {
    /// The deepest nesting that is accepted in input from outside.
    package static let depthLimit = 64
    /// The same for our own files, which hold input from outside some levels further down.
    package static let storedDepthLimit = 256

    /// Parses a text that consists of one JSON value.
    ///
    /// Refuses duplicate members, invalid UTF-8, NUL in texts, integers beyond 64 bits, numbers
    /// beyond a double, and nesting beyond `depthLimit`. C: `json_loadb`.
    package static func parse(
        _ text: [UInt8], depthLimit: Int = JSON.depthLimit
    ) throws(JSONError) -> JSONValue {
        // jansson takes a NUL after the value for the end of the text.
        if let end = text.firstIndex(of: 0) { throw JSONError(of: text, at: end) }
        var problem = json_error_t()
        let flags = size_t(JSON_REJECT_DUPLICATES | JSON_DECODE_ANY)
        let root = (text.isEmpty ? [0] : text).withUnsafeBytes { buffer in
            json_loadb(
                buffer.assumingMemoryBound(to: CChar.self).baseAddress, text.count, flags, &problem)
        }
        guard let root else {
            throw JSONError(problem)
        }
        defer { cjansson_decref(root) }
        var reader = Reader(text, depthLimit: depthLimit)
        guard let value = reader.value(root) else { throw JSONError(line: 0, column: 0) }
        return value
    }

    /// Writes a value on one line as UTF-8, with its members in their order. ``parse(_:depthLimit:)`` can
    /// read it again.
    package static func text(_ value: JSONValue) -> [UInt8] {
        var writer = Writer()
        writer.write(value)
        return writer.bytes
    }
}

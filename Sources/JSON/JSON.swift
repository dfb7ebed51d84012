import CJansson
import Turnstone

/// JSON text to values, by jansson, and back. For small documents: jansson takes 19 µs per kilobyte.
package enum JSON {
    /// Nesting beyond this is refused in what comes from outside.
    package static let depthLimit = 64
    /// The same in our own files, which hold what came from outside some levels further down.
    package static let storedDepthLimit = 256

    /// Reads one JSON value, which must be all of the text.
    ///
    /// Refuses duplicate members, invalid UTF-8, NUL in texts, integers beyond 64 bits, numbers
    /// beyond a double, and nesting beyond `depthLimit`. C: `json_loadb`.
    package static func parse(
        _ text: [UInt8], depthLimit: Int = JSON.depthLimit
    ) throws(JSONError) -> JSONValue {
        // jansson takes a NUL behind the value for the text's end, whatever follows.
        if let end = text.firstIndex(of: 0) { throw JSONError(of: text, at: end) }
        var problem = json_error_t()
        let flags = size_t(JSON_REJECT_DUPLICATES | JSON_DECODE_ANY)
        let root = (text.isEmpty ? [0] : text).withUnsafeBytes { buffer in
            json_loadb(
                buffer.assumingMemoryBound(to: CChar.self).baseAddress, text.count, flags, &problem)
        }
        guard let root else {
            throw JSONError(line: Int(problem.line), column: Int(problem.column))
        }
        defer { cjansson_decref(root) }
        var reader = Reader(text, depthLimit: depthLimit)
        guard let value = reader.value(root) else { throw JSONError(line: 0, column: 0) }
        return value
    }

    /// Writes a value on one line, members in their order, as UTF-8, so that ``parse(_:depthLimit:)`` reads it again.
    package static func text(_ value: JSONValue) -> [UInt8] {
        var writer = Writer()
        writer.write(value)
        return writer.bytes
    }
}

/// Where a text stops being JSON as we take it; 0, 0 where it is nested too deeply.
package struct JSONError: Error, Equatable, Sendable {
    package let line: Int
    package let column: Int

    package init(line: Int, column: Int) {
        self.line = line
        self.column = column
    }
}

extension JSONError {
    fileprivate init(of text: [UInt8], at place: Int) {
        let before = text[..<place]
        let line = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        self.init(
            line: before.count { $0 == UInt8(ascii: "\n") } + 1, column: place - line + 1)
    }
}

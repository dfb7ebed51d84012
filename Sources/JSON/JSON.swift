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
            throw JSONError(problem)
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
    package let cause: Cause

    package enum Cause: Sendable {
        /// It is no JSON, has a member twice, or is nested too deeply.
        case malformed
        /// It is JSON, with a NUL in a text: C's texts end there.
        case nul
        /// It is JSON, with an integer beyond 64 bits or a number beyond a double.
        case tooLargeNumber
    }

    package init(line: Int, column: Int, cause: Cause = .malformed) {
        self.line = line
        self.column = column
        self.cause = cause
    }

    /// What is wrong, for whoever wrote it.
    ///
    /// - Parameter name: the text's, such as `the body`.
    package func sentence(about name: String) -> String {
        let place = "at line \(line), column \(column)"
        return switch cause {
        case .malformed where line == 0: "\(name) is nested too deeply"
        case .malformed: "\(name) is not valid JSON \(place)"
        case .nul: "\(name) has \\u0000 in a text \(place): leave it out"
        case .tooLargeNumber:
            "\(name) has a number that is too large \(place): an integer must fit into 64 bits"
        }
    }
}

extension JSONError {
    fileprivate init(_ problem: json_error_t) {
        var problem = problem
        switch Int(cjansson_error_code(&problem)) {
        case Int(json_error_stack_overflow.rawValue): self.init(line: 0, column: 0)
        case Int(json_error_null_character.rawValue), Int(json_error_null_byte_in_key.rawValue):
            self.init(line: Int(problem.line), column: Int(problem.column), cause: .nul)
        case Int(json_error_numeric_overflow.rawValue):
            self.init(line: Int(problem.line), column: Int(problem.column), cause: .tooLargeNumber)
        default: self.init(line: Int(problem.line), column: Int(problem.column))
        }
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

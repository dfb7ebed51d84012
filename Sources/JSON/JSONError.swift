/// The place where a text is not acceptable JSON; line 0 and column 0 if it is nested too deeply.
package struct JSONError: Error, Equatable, Sendable {
    package let line: Int
    package let column: Int
    package let cause: Cause

    package enum Cause: Sendable {
        /// It is not JSON, has a duplicate member, or is nested too deeply.
        case malformed
        /// It is JSON with a NUL in a string, where a C string would end.
        case nul
        /// It is JSON with an integer beyond 64 bits or a number beyond a double.
        case tooLargeNumber
    }

    package init(line: Int, column: Int, cause: Cause = .malformed) {
        self.line = line
        self.column = column
        self.cause = cause
    }

    /// Describes the error for the author of the text.
    ///
    /// - Parameter name: what to call the text, such as `the body`.
    package func sentence(about name: String) -> String {
        let place = "at line \(line), column \(column)"
        return switch cause {
        case .malformed where line == 0: "\(name) is nested too deeply"
        case .malformed: "\(name) is not valid JSON \(place)"
        case .nul: "\(name) has \\u0000 in a string \(place): leave it out"
        case .tooLargeNumber:
            "\(name) has a number that is too large \(place): an integer must fit into 64 bits"
        }
    }
}

extension JSONError {
    /// A column counts characters from 1. At the end of the text it is the last character's.
    init(_ fault: JSONScanner.Malformed, of text: [UInt8]) {
        guard fault.cause != .depth else {
            self.init(line: 0, column: 0)
            return
        }
        let before = text[..<fault.place]
        let start = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        self.init(
            line: before.count { $0 == UInt8(ascii: "\n") } + 1,
            // The bytes of a character after its first are 10xxxxxx.
            column: text[start...].prefix(fault.place + 1 - start).count { $0 & 0xc0 != 0x80 },
            cause: fault.reportedCause)
    }
}

extension JSONScanner.Malformed {
    fileprivate var reportedCause: JSONError.Cause {
        switch cause {
        case .syntax, .depth: .malformed
        case .nul: .nul
        case .tooLargeNumber: .tooLargeNumber
        }
    }
}

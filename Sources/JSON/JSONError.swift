/// The place where a text is not acceptable JSON; line 0 and column 0 if it is nested too deeply.
package struct JSONError: Error, Equatable, Sendable {
    package let line: Int
    package let column: Int
    package let cause: Cause

    package enum Cause: Equatable, Sendable {
        /// It is not JSON, or is nested too deeply.
        case malformed
        /// An object has the same member twice. The name is `nil` if it is long or the object has many
        /// members.
        case duplicate(String?)
        /// A string has half of a surrogate pair, such as `\ud83d` alone.
        case surrogate
        /// A string has bytes that are not UTF-8.
        case encoding
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
    @export(interface)
    package func sentence(about name: String) -> String {
        let place = "at line \(line), column \(column)"
        return switch cause {
        case .malformed where line == 0: "\(name) is nested too deeply"
        case .malformed: "\(name) is not valid JSON \(place)"
        case .duplicate(let member?): "\(name) has the member \(member) twice \(place)"
        case .duplicate(nil): "\(name) has a member twice in the object that ends \(place)"
        case .surrogate:
            "\(name) has half of a surrogate pair in a string \(place): send the whole character"
        case .encoding: "\(name) has a string that is not UTF-8 \(place)"
        case .nul: "\(name) has \\u0000 in a string \(place): leave it out"
        case .tooLargeNumber:
            """
            \(name) has a number out of range \(place): an integer must fit into 64 bits with its sign, any \
            other number into a double
            """
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
            cause: fault.reportedCause(in: text))
    }
}

extension JSONScanner.Malformed {
    fileprivate func reportedCause(in text: [UInt8]) -> JSONError.Cause {
        switch cause {
        case .syntax, .depth: .malformed
        case .nul: .nul
        case .tooLargeNumber: .tooLargeNumber
        case .duplicate: .duplicate(name(in: text))
        case .surrogate: .surrogate
        case .encoding: .encoding
        }
    }

    /// The member's name that ends at the fault, as written in the text; `nil` unless it is short and plain.
    private func name(in text: [UInt8]) -> String? {
        guard place < text.count, text[place] == UInt8(ascii: "\"") else { return nil }
        let name = text[..<place].suffix(64).reversed().prefix { $0 != UInt8(ascii: "\"") }
        let isPlain = name.allSatisfy { (0x20...0x7e).contains($0) && $0 != UInt8(ascii: "\\") }
        let quote = place - name.count - 1
        // A quote after a backslash is part of the name.
        guard name.count < 64, isPlain, quote > 0, text[quote - 1] != UInt8(ascii: "\\") else {
            return nil
        }
        return String(decoding: Array(name.reversed()), as: UTF8.self)
    }
}

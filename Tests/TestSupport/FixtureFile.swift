import JSON
import Turnstone

/// A file of the state folder as fixtures state it: a JSON value, an array with a value for each line of a
/// `.jsonl` file, or a text.
package struct FixtureFile {
    private let isLines: Bool

    package init(_ name: String) {
        isLines = name.hasSuffix(".jsonl")
    }

    package func text(_ value: JSONValue) -> String {
        if isLines, let lines = value.array { return lines.map { line($0) + "\n" }.joined() }
        return value.string ?? line(value)
    }

    package func value(_ bytes: [UInt8]) -> JSONValue {
        if isLines {
            let lines = bytes.split(separator: UInt8(ascii: "\n")).map {
                try? JSON.parse(Array($0))
            }
            if lines.allSatisfy({ $0 != nil }) { return .array(lines.compactMap { $0 }) }
        }
        return (try? JSON.parse(bytes)) ?? .string(String(decoding: bytes, as: UTF8.self))
    }

    private func line(_ value: JSONValue) -> String {
        String(decoding: JSON.text(value), as: UTF8.self)
    }
}

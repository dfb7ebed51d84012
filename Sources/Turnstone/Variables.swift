/// The configuration: named texts from the environment and, if unset there, from a file.
package struct Variables: Sendable {
    private(set) var entries: [(name: String, value: String)] = []
    /// The number of entries before those of the configuration file.
    private(set) var environmentCount = Int.max
    /// The configuration file that was read, for sentences about its faults.
    package var file: String?
    /// The numbers of the configuration file's lines that are neither `NAME=value` nor a comment.
    package private(set) var malformedLines: [Int] = []

    package init() {}

    /// Sets a variable unless it is set already: the first source wins.
    @export(interface)
    package mutating func offer(_ name: String, _ value: String) {
        guard self[name] == nil else { return }
        entries.append((name, value))
    }

    /// The variable's text, even if it is empty.
    package subscript(name: String) -> String? {
        entries.first { $0.name == name }?.value
    }

    /// The variable's text; `nil` if it is unset or empty.
    package func text(_ name: String) -> String? {
        guard let value = self[name], !value.isEmpty else { return nil }
        return value
    }

    /// A whole number within `range`; `standard` if the variable is unset.
    @export(interface)
    package func number(
        _ name: String, standard: Int, in range: ClosedRange<Int>
    ) throws(Failure) -> Int {
        guard let text = text(name) else { return standard }
        guard let number = Int(text), range.contains(number) else {
            throw wrong(
                name, "must be a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    @export(interface)
    package func flag(_ name: String, standard: Bool) throws(Failure) -> Bool {
        switch text(name) {
        case nil: return standard
        case "true", "1", "yes": return true
        case "false", "0", "no": return false
        default: throw wrong(name, "must be true or false")
        }
    }

    /// `SIGNUP`: whether players get API keys by themselves, with a code in their profile on OGS.
    package func allowsSignup() throws(Failure) -> Bool {
        switch text("SIGNUP") {
        case nil, "off": return false
        case "ogs-profile": return true
        default: throw wrong("SIGNUP", "must be off or ogs-profile")
        }
    }

    /// Throws unless `TURNSTONE_LOG` is a format that logs have. Any other value means text.
    package func checkLogFormat() throws(Failure) {
        switch text("TURNSTONE_LOG") {
        case nil, "text", "json": break
        default: throw wrong("TURNSTONE_LOG", "must be text or json")
        }
    }

    /// `TURNSTONE_STATE`, else the first of systemd's `STATE_DIRECTORY`, else `/var/lib/turnstone`.
    package var stateFolder: String {
        let first = text("STATE_DIRECTORY")?.utf8.prefix { $0 != UInt8(ascii: ":") }
        return text("TURNSTONE_STATE") ?? first.map { String(decoding: Array($0), as: UTF8.self) }
            ?? "/var/lib/turnstone"
    }

    /// The failure for a variable that cannot be used. It names the variable and where it is set, never its
    /// value.
    ///
    /// - Parameter demand: what the variable must be, or what to do.
    @export(interface)
    package func wrong(_ name: String, _ demand: String) -> Failure {
        let place = entries.firstIndex { $0.name == name }
        guard let place, !entries[place].value.isEmpty else {
            let fault = place == nil ? "not set" : "empty"
            let both = file.map { " (environment or \($0))" } ?? ""
            return .misconfigured("\(name) is \(fault)\(both): \(demand)")
        }
        let source = place < environmentCount ? "environment" : file ?? "file"
        return .misconfigured("unable to use \(name) (\(source)): \(demand)")
    }
}

extension Variables {
    /// Offers each `NAME=value` line of a file, as systemd reads an EnvironmentFile (systemd.exec(5)):
    /// comments begin with `#` or `;`, quotes protect blanks, a backslash at the end of a line joins the next
    /// line, and the last of several lines for a name counts.
    @export(interface)
    package mutating func offer(environmentFile text: String) {
        environmentCount = min(environmentCount, entries.count)
        let bytes = Array(text.utf8)
        var rest = bytes[...]
        var counted = 0
        var number = 1
        while !rest.isEmpty {
            offerLine(&rest) { place in
                number += bytes[counted..<place].count { $0 == newline }
                counted = place
                return number
            }
        }
    }

    /// Reads the next line.
    ///
    /// - Parameter number: returns the line number of a byte; called in the order of the lines.
    private mutating func offerLine(
        _ rest: inout ArraySlice<UInt8>, number: (Int) -> Int
    ) {
        rest = rest.drop { isBlank($0) || $0 == newline }
        guard let first = rest.first else { return }
        let equals = rest.firstIndex(of: UInt8(ascii: "="))
        let end = rest.firstIndex(of: newline) ?? rest.endIndex
        guard first != UInt8(ascii: "#"), first != UInt8(ascii: ";") else {
            rest = rest[end...]
            return
        }
        guard let equals, equals < end, isName(rest[..<equals]) else {
            malformedLines.append(number(rest.startIndex))
            rest = rest[end...]
            return
        }
        let name = String(decoding: rest[..<equals], as: UTF8.self)
        rest = rest[(equals + 1)...].drop(while: isBlank)
        let (known, value) = (trimmed(name), value(&rest))
        if let place = entries.lastIndex(where: { $0.name == known }), place >= environmentCount {
            entries[place].value = value
        } else {
            offer(known, value)
        }
    }

    /// Reads a value up to the end of its line.
    private func value(_ rest: inout ArraySlice<UInt8>) -> String {
        var value: [UInt8] = []
        var kept = 0  // how much of `value` trailing blanks may not shorten
        var quote: UInt8?
        while let byte = rest.popFirst() {
            switch (byte, quote) {
            case (newline, nil):
                return String(decoding: trimmedEnd(value, keeping: kept), as: UTF8.self)
            case (UInt8(ascii: "\\"), let open) where open != UInt8(ascii: "'"):
                guard let next = rest.popFirst(), next != newline else { break }
                if open != nil, !escapable.contains(next) { value.append(byte) }
                value.append(next)
                kept = value.count
            case (let mark, nil) where mark == UInt8(ascii: "\"") || mark == UInt8(ascii: "'"):
                quote = mark
            case (let mark, let open?) where mark == open:
                quote = nil
                kept = value.count
            default:
                value.append(byte)
            }
        }
        return String(decoding: trimmedEnd(value, keeping: kept), as: UTF8.self)
    }
}

/// Letters, digits and `_`, not beginning with a digit; trailing blanks are allowed.
private func isName(_ text: ArraySlice<UInt8>) -> Bool {
    var name = text
    while let last = name.last, isBlank(last) { name.removeLast() }
    guard let first = name.first, !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first) else {
        return false
    }
    return name.allSatisfy {
        switch $0 {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}

private let newline = UInt8(ascii: "\n")
private let escapable: [UInt8] = [
    UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "`"), UInt8(ascii: "$"),
]

private func isBlank(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") || byte == UInt8(ascii: "\r")
}

private func trimmedEnd(_ bytes: [UInt8], keeping kept: Int) -> ArraySlice<UInt8> {
    var end = bytes.count
    while end > kept, isBlank(bytes[end - 1]) { end -= 1 }
    return bytes[..<end]
}

private func trimmed(_ name: String) -> String {
    var bytes = Array(name.utf8)[...]
    while let last = bytes.last, isBlank(last) { bytes.removeLast() }
    return String(decoding: bytes, as: UTF8.self)
}

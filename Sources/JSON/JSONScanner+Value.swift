import Turnstone

extension JSONScanner {
    /// Reads the next value, whatever it is.
    ///
    /// - Parameter depthLimit: how many objects and arrays may be nested.
    mutating func value(depthLimit: Int) throws(Malformed) -> JSONValue {
        switch next {
        case UInt8(ascii: "\""): return .string(try strictText(textRange()))
        case UInt8(ascii: "{"): return .object(try members(depthLimit: depthLimit))
        case UInt8(ascii: "["): return .array(try elements(depthLimit: depthLimit))
        case let byte? where byte == UInt8(ascii: "-") || isDigit(byte): return try number()
        default: return try word()
        }
    }

    private mutating func members(depthLimit: Int) throws(Malformed) -> JSONObject {
        guard depthLimit > 0 else { throw Malformed(place: place, cause: .depth) }
        var object = JSONObject()
        try forEachMember { (scanner, raw) throws(Malformed) in
            let name = try scanner.strictText(raw.range)
            if object.members.count <= Self.fewMembers, object.hasMember(name) {
                throw Malformed(place: raw.range.upperBound, cause: .duplicate)
            }
            object.append(name, try scanner.value(depthLimit: depthLimit - 1))
        }
        guard object.members.count <= Self.fewMembers || !object.hasDuplicate else {
            throw Malformed(place: place - 1, cause: .duplicate)
        }
        return object
    }

    /// Up to this number of members, each name is compared with all others.
    private static var fewMembers: Int { 16 }

    private mutating func elements(depthLimit: Int) throws(Malformed) -> [JSONValue] {
        guard depthLimit > 0 else { throw Malformed(place: place, cause: .depth) }
        var elements: [JSONValue] = []
        try forEachElement { (scanner) throws(Malformed) in
            elements.append(try scanner.value(depthLimit: depthLimit - 1))
        }
        return elements
    }

    private mutating func word() throws(Malformed) -> JSONValue {
        if take(word: "true") { return true }
        if take(word: "false") { return false }
        guard take(word: "null") else { throw malformed() }
        return .null
    }

    /// Skips `true`, `false` or `null`.
    mutating func passWord() throws(Malformed) { _ = try word() }

    private mutating func take(word: StaticString) -> Bool {
        let end = place + word.utf8CodeUnitCount
        guard end <= bytes.count else { return false }
        for offset in 0..<word.utf8CodeUnitCount
        where bytes[place + offset] != word.utf8Start[offset] {
            return false
        }
        place = end
        return true
    }
}

extension JSONObject {
    /// Compares bytes: `==` also matches another spelling of the same character.
    fileprivate func hasMember(_ name: String) -> Bool {
        members.contains { haveEqualBytes($0.name, name) }
    }

    /// Sorts instead of hashing: without random numbers, a stranger could choose names with equal hashes.
    fileprivate var hasDuplicate: Bool {
        let names = members.map { Array($0.name.utf8) }.sorted { $0.lexicographicallyPrecedes($1) }
        return zip(names, names.dropFirst()).contains { $0 == $1 }
    }
}

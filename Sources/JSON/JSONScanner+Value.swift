import Turnstone

extension JSONScanner {
    /// Reads the next value, whatever it is.
    ///
    /// - Parameter depthLimit: how many objects and arrays may be nested.
    mutating func value(depthLimit: Int) throws(Malformed) -> JSONValue {
        switch next {
        case UInt8(ascii: "\""): return .string(try strictText())
        case UInt8(ascii: "{"): return .object(try members(depthLimit: depthLimit))
        case UInt8(ascii: "["): return .array(try elements(depthLimit: depthLimit))
        case let byte? where byte == UInt8(ascii: "-") || isDigit(byte): return try number()
        default: return try word()
        }
    }

    private mutating func members(depthLimit: Int) throws(Malformed) -> JSONObject {
        guard depthLimit > 0 else { throw Malformed(place: place, cause: .depth) }
        var object = JSONObject()
        place += 1
        guard next != UInt8(ascii: "}") else {
            place += 1
            return object
        }
        repeat {
            let name = try strictText()
            if object.members.count <= Self.fewMembers, object.hasMember(name) {
                throw Malformed(place: place - 1, cause: .syntax)
            }
            try take(UInt8(ascii: ":"))
            object.append(name, try value(depthLimit: depthLimit - 1))
        } while try !isLast(UInt8(ascii: "}"))
        guard object.members.count <= Self.fewMembers || !object.hasDuplicate else {
            throw Malformed(place: place - 1, cause: .syntax)
        }
        return object
    }

    /// Up to so many, each name is compared with all others.
    private static var fewMembers: Int { 16 }

    private mutating func elements(depthLimit: Int) throws(Malformed) -> [JSONValue] {
        guard depthLimit > 0 else { throw Malformed(place: place, cause: .depth) }
        var elements: [JSONValue] = []
        place += 1
        guard next != UInt8(ascii: "]") else {
            place += 1
            return elements
        }
        repeat {
            elements.append(try value(depthLimit: depthLimit - 1))
        } while try !isLast(UInt8(ascii: "]"))
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
    /// Byte by byte: `==` takes two spellings of a character for the same.
    fileprivate func hasMember(_ name: String) -> Bool {
        members.contains { $0.name.utf8.elementsEqual(name.utf8) }
    }

    /// Sorted, because a set would need random numbers, without which an attacker could choose names that
    /// collide.
    fileprivate var hasDuplicate: Bool {
        let names = members.map { Array($0.name.utf8) }.sorted { $0.lexicographicallyPrecedes($1) }
        return zip(names, names.dropFirst()).contains { $0 == $1 }
    }
}

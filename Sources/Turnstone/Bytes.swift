/// Whether two texts have the same UTF-8. `==` also matches another spelling of the same character.
package func haveEqualBytes(_ left: String, _ right: String) -> Bool {
    guard left.utf8.count == right.utf8.count else { return false }
    let areEqual = left.utf8.withContiguousStorageIfAvailable { left in
        right.utf8.withContiguousStorageIfAvailable { right in
            for place in left.indices where left[place] != right[place] { return false }
            return true
        }
    }
    return (areEqual ?? nil) ?? left.utf8.elementsEqual(right.utf8)
}

/// The text with ASCII letters in lower case; other characters unchanged.
package func lowercased(_ text: String) -> String {
    String(decoding: lowercase(Array(text.utf8)[...]), as: UTF8.self)
}

/// The same for bytes.
func lowercase(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
    bytes.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }
}

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

import HTTP2

extension HeaderFields {
    /// All fields, in their order of arrival.
    package var all: [(name: String, value: String)] {
        entries.map { entry in
            let middle = Int(entry.start + entry.nameLength)
            return (
                String(decoding: bytes[Int(entry.start)..<middle], as: UTF8.self),
                String(decoding: bytes[middle..<(middle + Int(entry.valueLength))], as: UTF8.self)
            )
        }
    }

    /// The name of a field that occurs more than once, if any.
    package var repeatedName: String? {
        for (index, entry) in entries.enumerated() {
            let name = bytes[Int(entry.start)..<Int(entry.start + entry.nameLength)]
            for other in entries[..<index] where other.nameLength == entry.nameLength {
                let otherName = bytes[Int(other.start)..<Int(other.start + other.nameLength)]
                if name.elementsEqual(otherName) { return String(decoding: name, as: UTF8.self) }
            }
        }
        return nil
    }
}

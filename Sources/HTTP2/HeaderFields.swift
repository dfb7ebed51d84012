import CNGHTTP2

/// The header fields of one message, pseudo-header fields first. They are in one block of bytes: at a million
/// requests a second there is no time for a string each.
package struct HeaderFields: Equatable, Sendable {
    package private(set) var bytes: [UInt8] = []
    package private(set) var entries: [Entry] = []

    package struct Entry: Equatable, Sendable {
        package let start: Int32
        package let nameLength: Int32
        package let valueLength: Int32
        let isIndexed: Bool
    }

    package init() {}

    /// - Parameters:
    ///   - name: in lower case, as HTTP/2 requires.
    ///   - indexed: whether the peer should keep the field for later messages (RFC 7541). A value that does
    ///     not recur would only displace those that do.
    package mutating func append(_ name: String, _ value: String, indexed: Bool = true) {
        append(name, value, "", indexed: indexed)
    }

    /// The same for a value in two parts.
    package mutating func append(
        _ name: String, _ value: String, _ rest: String, indexed: Bool = true
    ) {
        let start = bytes.count
        append(name)
        let nameEnd = bytes.count
        append(value)
        append(rest)
        entries.append(
            Entry(
                start: Int32(start), nameLength: Int32(nameEnd - start),
                valueLength: Int32(bytes.count - nameEnd), isIndexed: indexed))
    }

    /// Appending the `utf8` of a text as a sequence would take three times as long.
    private mutating func append(_ text: String) {
        let copied: Void? = text.utf8.withContiguousStorageIfAvailable {
            bytes.append(contentsOf: $0)
        }
        if copied == nil { bytes.append(contentsOf: text.utf8) }
    }

    package mutating func append(
        _ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>
    ) {
        let start = bytes.count
        bytes.append(contentsOf: name)
        bytes.append(contentsOf: value)
        entries.append(
            Entry(
                start: Int32(start), nameLength: Int32(name.count),
                valueLength: Int32(value.count), isIndexed: true))
    }

    /// Removes all fields but keeps the memory.
    package mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        entries.removeAll(keepingCapacity: true)
    }

    /// The value of the first field with that name.
    package subscript(name: String) -> String? {
        var name = name
        let found = name.withUTF8 { name in
            bytes.withUnsafeBufferPointer { bytes in
                entries.first { entry in
                    Int(entry.nameLength) == name.count
                        && bytes[Int(entry.start)...].starts(with: name)
                }
            }
        }
        guard let found else { return nil }
        let start = Int(found.start + found.nameLength)
        return String(decoding: bytes[start..<(start + Int(found.valueLength))], as: UTF8.self)
    }

    /// Calls `body` with the fields in nghttp2's form, which points into `bytes`. `scratch` saves allocating
    /// an array each time.
    package func withPairs<Result>(
        _ scratch: inout [nghttp2_nv], _ body: (UnsafePointer<nghttp2_nv>, Int) -> Result
    ) -> Result {
        bytes.withUnsafeBufferPointer { bytes in
            // nghttp2 declares the names mutable but does not write to them.
            let base = UnsafeMutablePointer(mutating: bytes.baseAddress!)
            scratch.removeAll(keepingCapacity: true)
            for entry in entries {
                let name = base + Int(entry.start)
                let flags = entry.isIndexed ? NGHTTP2_NV_FLAG_NONE : NGHTTP2_NV_FLAG_NO_INDEX
                scratch.append(
                    nghttp2_nv(
                        name: name, value: name + Int(entry.nameLength),
                        namelen: Int(entry.nameLength), valuelen: Int(entry.valueLength),
                        flags: UInt8(flags.rawValue)))
            }
            return scratch.withUnsafeBufferPointer { body($0.baseAddress!, $0.count) }
        }
    }
}

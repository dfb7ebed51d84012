import CUnix

/// A file as memory that several processes share: each loads what the others store.
///
/// The system writes changes back at any time; ``FileDescriptor/synchronize()`` makes them durable. Aligned
/// 8-byte words are loaded and stored whole and in order: a process that sees a word also sees what was
/// stored before it (acquire and release). C: `mmap(2)` with `MAP_SHARED`.
package final class MappedFile {
    private let address: UnsafeMutableRawPointer
    /// In bytes.
    package let size: Int

    /// Maps the file at its present size; `nil` if it is empty.
    package init?(_ file: FileDescriptor) throws(SystemError) {
        let size = try file.size()
        guard size > 0 else { return nil }
        let address = try file.withNumber { (number) throws(SystemError) in
            guard let address = cunix_map(size, PROT_READ | PROT_WRITE, number) else {
                throw SystemError("map", "file")
            }
            return address
        }
        self.address = address
        self.size = size
    }

    deinit { munmap(address, size) }

    /// The 8-byte word at a byte offset, in the machine's order.
    package subscript(offset: Int) -> Int64 {
        get {
            defer { withExtendedLifetime(self) {} }
            return cunix_load(word(at: offset))
        }
        set {
            defer { withExtendedLifetime(self) {} }
            cunix_store(word(at: offset), newValue)
        }
    }

    private func word(at offset: Int) -> UnsafeMutablePointer<Int64> {
        precondition(offset >= 0 && offset % 8 == 0 && offset + 8 <= size)
        return (address + offset).assumingMemoryBound(to: Int64.self)
    }

    /// The bytes of several words, in the file's order. Each word is whole, but they may come from different
    /// stores.
    package func bytes(at offset: Int, count: Int) -> [UInt8] {
        precondition(count % 8 == 0)
        var bytes: [UInt8] = []
        for place in stride(from: offset, to: offset + count, by: 8) {
            withUnsafeBytes(of: self[place]) { bytes += $0 }
        }
        return bytes
    }

    /// Stores the bytes of several words, one word after the other.
    package func store(_ bytes: [UInt8], at offset: Int) {
        precondition(bytes.count % 8 == 0)
        for place in stride(from: 0, to: bytes.count, by: 8) {
            self[offset + place] = bytes.withUnsafeBytes {
                $0.loadUnaligned(fromByteOffset: place, as: Int64.self)
            }
        }
    }
}

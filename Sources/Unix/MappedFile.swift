import CUnix

/// A file as memory that several processes share: what one stores, the others load.
///
/// The system writes it back when it pleases; ``FileDescriptor/synchronize()`` makes it durable.
/// Aligned 8-byte words are stored whole. C: `mmap(2)` with `MAP_SHARED`.
package final class MappedFile {
    private let address: UnsafeMutableRawPointer
    /// In bytes.
    package let size: Int

    /// Maps all of the file as it is now; `nil` for an empty one.
    package init?(_ file: FileDescriptor) throws(SystemError) {
        let size = try file.size()
        guard size > 0 else { return nil }
        guard let address = cunix_map(size, PROT_READ | PROT_WRITE, file.number) else {
            throw SystemError("map", "file")
        }
        self.address = address
        self.size = size
    }

    deinit { munmap(address, size) }

    /// The 8-byte word at a byte offset, in the machine's order.
    package subscript(offset: Int) -> Int64 {
        get {
            precondition(offset >= 0 && offset + 8 <= size)
            return address.load(fromByteOffset: offset, as: Int64.self)
        }
        set {
            precondition(offset >= 0 && offset + 8 <= size)
            address.storeBytes(of: newValue, toByteOffset: offset, as: Int64.self)
        }
    }

    package func bytes(at offset: Int, count: Int) -> [UInt8] {
        precondition(offset >= 0 && count >= 0 && offset + count <= size)
        return [UInt8](UnsafeRawBufferPointer(start: address + offset, count: count))
    }

    package func store(_ bytes: [UInt8], at offset: Int) {
        precondition(offset >= 0 && offset + bytes.count <= size)
        bytes.withUnsafeBytes {
            (address + offset).copyMemory(from: $0.baseAddress!, byteCount: bytes.count)
        }
    }
}

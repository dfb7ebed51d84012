/// Frames gathered for large TLS records: a write for each frame would cost more than all else.
package struct OutputBuffer: ~Copyable {
    /// Four of the largest TLS records.
    private static let capacity = 65_536
    private let buffer = UnsafeMutableRawBufferPointer.allocate(
        byteCount: capacity + 32_768, alignment: 16)
    private var start = 0
    private var end = 0

    package init() {}

    deinit { buffer.deallocate() }

    package var isEmpty: Bool { start == end }

    package var bytes: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: buffer[start..<end])
    }

    package mutating func drop(_ count: Int) {
        start += count
    }

    /// Takes what a session has to say, once all before is written: OpenSSL wants to be offered the same
    /// bytes again after a write that could not be done.
    ///
    /// - Parameter next: the session's next bytes, at most a frame: 9 bytes and what
    ///   `SETTINGS_MAX_FRAME_SIZE` starts at, 16 KiB.
    package mutating func fill(from next: () -> UnsafeRawBufferPointer) {
        guard isEmpty else { return }
        start = 0
        end = 0
        while end < Self.capacity {
            let output = next()
            if output.isEmpty { return }
            UnsafeMutableRawBufferPointer(rebasing: buffer[end...]).copyMemory(from: output)
            end += output.count
        }
    }
}

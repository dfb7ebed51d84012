/// Gathers frames for large TLS records: one write for each frame would cost more than everything else.
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

    /// Takes a session's next bytes if all previous ones are written: after an incomplete write, OpenSSL must
    /// be offered the same bytes again.
    ///
    /// - Parameter next: returns the session's next bytes, at most one frame: 9 bytes and the initial
    ///   `SETTINGS_MAX_FRAME_SIZE`, 16 KiB.
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

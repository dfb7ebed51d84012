import CNGHTTP2

/// The part of both sides of HTTP/2 that drives nghttp2's session: bytes in, bytes out.
///
/// A call to nghttp2 keeps the object alive until it returns: its callbacks come back to it.
package protocol FrameSession: AnyObject {
    var session: OpaquePointer? { get }
}

extension FrameSession {
    /// - Returns: `nil`, or why the connection cannot go on.
    package func receive(_ bytes: UnsafeRawBufferPointer) -> String? {
        defer { withExtendedLifetime(self) {} }
        let count = nghttp2_session_mem_recv(
            session, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count)
        return count < 0 ? String(cString: nghttp2_strerror(Int32(count))) : nil
    }

    /// The next bytes to be written, lent until the next call; empty if nothing waits.
    package func nextOutput() -> UnsafeRawBufferPointer {
        defer { withExtendedLifetime(self) {} }
        var bytes: UnsafePointer<UInt8>?
        let count = nghttp2_session_mem_send(session, &bytes)
        return UnsafeRawBufferPointer(start: bytes, count: max(0, count))
    }

    /// Whether HTTP/2 has no more use for the connection.
    package var isDone: Bool {
        defer { withExtendedLifetime(self) {} }
        return nghttp2_session_want_read(session) == 0 && nghttp2_session_want_write(session) == 0
    }

    /// A request's place in the owner's table: nghttp2's own record of the stream holds it, which saves a
    /// look-up by number.
    package func place(_ id: Int32) -> Int? {
        guard let data = nghttp2_session_get_stream_user_data(session, id) else { return nil }
        return Int(bitPattern: data) - 1
    }
}

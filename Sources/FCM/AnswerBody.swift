import CZlib
import HTTP2

extension ClientEvent.Answer {
    /// The body's text, whether it came as it is or in gzip. We ask for no content coding, so a server may choose
    /// one (RFC 9110 section 12.5.3).
    ///
    /// - Returns: `nil` if the coding is another one, or the body is damaged, cut off or longer than 64 KiB.
    var text: [UInt8]? {
        switch (fields["content-encoding"] ?? "identity").lowercased() {
        case "identity": body
        case "gzip", "x-gzip": unzipped(body, limit: 65_536)
        default: nil
        }
    }
}

/// Decodes gzip (RFC 1952). C: `inflate` of zlib.
///
/// - Parameter limit: the longest result, in bytes.
/// - Returns: `nil` if the bytes are damaged, cut off or stand for more.
func unzipped(_ bytes: [UInt8], limit: Int) -> [UInt8]? {
    var stream = z_stream()
    // zlib keeps the stream's address.
    return withUnsafeMutablePointer(to: &stream) { stream in
        // The largest window is 15; 16 more stand for gzip.
        guard czlib_inflate_init(stream, 15 + 16) == Z_OK else { return nil }
        defer { inflateEnd(stream) }
        var input = bytes
        var isComplete = false
        let text = input.withUnsafeMutableBufferPointer { input in
            [UInt8](unsafeUninitializedCapacity: limit) { (output, count) in
                stream.pointee.next_in = input.baseAddress
                stream.pointee.avail_in = UInt32(input.count)
                stream.pointee.next_out = output.baseAddress
                stream.pointee.avail_out = UInt32(limit)
                isComplete = inflate(stream, Z_FINISH) == Z_STREAM_END
                count = limit - Int(stream.pointee.avail_out)
            }
        }
        return isComplete ? text : nil
    }
}

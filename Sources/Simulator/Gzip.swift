import CZlib

/// Bytes in gzip (RFC 1952). C: `deflate` of zlib.
func zipped(_ bytes: [UInt8]) -> [UInt8] {
    var stream = z_stream()
    // zlib keeps the stream's address.
    return withUnsafeMutablePointer(to: &stream) { stream in
        // The largest window is 15; 16 more stand for gzip.
        precondition(czlib_deflate_init(stream, 15 + 16) == Z_OK, "zlib has no memory")
        defer { deflateEnd(stream) }
        let longest = Int(deflateBound(stream, UInt(bytes.count)))
        var input = bytes
        return input.withUnsafeMutableBufferPointer { input in
            [UInt8](unsafeUninitializedCapacity: longest) { (output, count) in
                stream.pointee.next_in = input.baseAddress
                stream.pointee.avail_in = UInt32(input.count)
                stream.pointee.next_out = output.baseAddress
                stream.pointee.avail_out = UInt32(longest)
                let result = deflate(stream, Z_FINISH)
                precondition(result == Z_STREAM_END, "deflateBound is too small")
                count = longest - Int(stream.pointee.avail_out)
            }
        }
    }
}

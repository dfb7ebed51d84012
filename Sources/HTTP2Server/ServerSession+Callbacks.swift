import CNGHTTP2
import HTTP2

extension ServerSession {
    func install(_ callbacks: OpaquePointer?) {
        nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks) { _, frame, this in
            withServerSession(this) { $0.beginFields(frame!.pointee) }
        }
        nghttp2_session_callbacks_set_on_header_callback(callbacks) {
            _, frame, name, nameLength, value, valueLength, _, this in
            withServerSession(this) {
                $0.receiveField(
                    frame!.pointee.hd.stream_id,
                    UnsafeBufferPointer(start: name, count: nameLength),
                    UnsafeBufferPointer(start: value, count: valueLength))
            }
        }
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) {
            _, _, id, bytes, count, this in
            withServerSession(this) {
                $0.receiveBody(id, UnsafeBufferPointer(start: bytes, count: count))
            }
        }
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { _, frame, this in
            withServerSession(this) { $0.receive(frame!.pointee.hd) }
        }
        nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks) {
            _, frame, _, this in
            withServerSession(this) { $0.countRefusedStream(frame!.pointee.hd) }
        }
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { _, id, _, this in
            withServerSession(this) { $0.close(id) }
        }
    }

    private func beginFields(_ frame: nghttp2_frame) -> Int32 {
        // Trailers open no stream.
        if place(frame.hd.stream_id) == nil { open(frame.hd.stream_id) }
        return 0
    }

    private func receiveField(
        _ id: Int32, _ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>
    ) -> Int32 {
        if let place = place(id), !streams[place].isDelivered {
            streams[place].request.fields.append(name, value)
        }
        return 0
    }

    private func receiveBody(_ id: Int32, _ bytes: UnsafeBufferPointer<UInt8>) -> Int32 {
        guard let place = place(id), !streams[place].isDelivered else { return 0 }
        let room = limits.requestBody - streams[place].request.body.count
        streams[place].request.bodyLength += bytes.count
        streams[place].request.body.append(contentsOf: bytes.prefix(max(0, room)))
        return 0
    }

    private func receive(_ header: nghttp2_frame_hd) -> Int32 {
        let type = nghttp2_frame_type(UInt32(header.type))
        guard type == NGHTTP2_HEADERS || type == NGHTTP2_DATA, let place = place(header.stream_id),
            !streams[place].isDelivered
        else { return 0 }
        let ends = header.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0
        guard ends || deliversEarly else { return 0 }
        streams[place].request.isComplete = ends
        streams[place].isDelivered = true
        requests.append(streams[place].request)
        return 0
    }

    /// Counts a request beyond the limit, which nghttp2 refuses before it becomes a stream.
    private func countRefusedStream(_ header: nghttp2_frame_hd) -> Int32 {
        if nghttp2_frame_type(UInt32(header.type)) == NGHTTP2_HEADERS,
            place(header.stream_id) == nil
        {
            refusedStreams += 1
        }
        return 0
    }

    private func close(_ id: Int32) -> Int32 {
        if let place = place(id) { release(place) }
        return 0
    }

    func sendBody(
        _ id: Int32, _ buffer: UnsafeMutablePointer<UInt8>, _ room: Int,
        _ flags: UnsafeMutablePointer<UInt32>
    ) -> Int {
        guard let place = place(id) else {
            return Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)
        }
        let start = streams[place].sent
        let count = min(room, streams[place].answer.count - start)
        if count > 0 {
            streams[place].answer.withUnsafeBufferPointer {
                buffer.update(from: $0.baseAddress! + start, count: count)
            }
        }
        streams[place].sent += count
        guard streams[place].sent == streams[place].answer.count else { return count }
        guard let code = streams[place].resetCode else {
            flags.pointee |= UInt32(NGHTTP2_DATA_FLAG_EOF.rawValue)
            return count
        }
        if count > 0 { return count }
        nghttp2_submit_rst_stream(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), id, code)
        return Int(NGHTTP2_ERR_DEFERRED.rawValue)
    }
}

import CNGHTTP2

extension ClientSession {
    func install(_ callbacks: OpaquePointer?) {
        nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks) { _, frame, this in
            withSession(this) { $0.beginFields(frame!.pointee.hd.stream_id) }
        }
        nghttp2_session_callbacks_set_on_header_callback(callbacks) {
            _, frame, name, nameLength, value, valueLength, _, this in
            withSession(this) {
                $0.receiveField(
                    frame!.pointee.hd.stream_id,
                    UnsafeBufferPointer(start: name, count: nameLength),
                    UnsafeBufferPointer(start: value, count: valueLength))
            }
        }
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) {
            _, _, id, bytes, count, this in
            withSession(this) {
                $0.receiveBody(id, UnsafeBufferPointer(start: bytes, count: count))
            }
        }
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { _, frame, this in
            withSession(this) { $0.receive(frame!.pointee) }
        }
        nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks) { _, frame, _, this in
            withSession(this) { $0.markUnsent(frame!.pointee.hd) }
        }
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { _, id, code, this in
            withSession(this) { $0.close(id, code) }
        }
    }

    func sendBody(
        _ id: Int32, _ buffer: UnsafeMutablePointer<UInt8>, _ room: Int,
        _ flags: UnsafeMutablePointer<UInt32>
    ) -> Int {
        guard let place = place(id) else {
            return Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)
        }
        let (count, isEnd) = streams[place].give(buffer, room)
        unwritten -= count
        if isEnd { flags.pointee |= UInt32(NGHTTP2_DATA_FLAG_EOF.rawValue) }
        return count
    }

    private func beginFields(_ id: Int32) -> Int32 {
        if let place = place(id) { streams[place].beginFields() }
        return 0
    }

    private func receiveField(
        _ id: Int32, _ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>
    ) -> Int32 {
        if let place = place(id) { streams[place].receive(name, value) }
        return 0
    }

    private func receiveBody(_ id: Int32, _ bytes: UnsafeBufferPointer<UInt8>) -> Int32 {
        guard let place = place(id) else { return 0 }
        let room = limits.answerBody - streams[place].answer.body.count
        streams[place].answer.body.append(contentsOf: bytes.prefix(max(0, room)))
        return 0
    }

    private func receive(_ frame: nghttp2_frame) -> Int32 {
        let type = nghttp2_frame_type(UInt32(frame.hd.type))
        switch type {
        case NGHTTP2_HEADERS, NGHTTP2_DATA:
            guard frame.hd.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0,
                let place = place(frame.hd.stream_id), !streams[place].isSettled
            else { break }
            // The answer counts even if the server has not read all of the request's body.
            settle(place, .answered(tag: streams[place].tag, streams[place].answer))
        case NGHTTP2_SETTINGS: hasSettings = true
        case NGHTTP2_GOAWAY:
            let data = UnsafeBufferPointer(
                start: frame.goaway.opaque_data, count: min(1024, frame.goaway.opaque_data_len))
            goAway = GoAway(code: frame.goaway.error_code, debugData: Array(data))
        default: break
        }
        return 0
    }

    private func markUnsent(_ header: nghttp2_frame_hd) -> Int32 {
        if nghttp2_frame_type(UInt32(header.type)) == NGHTTP2_HEADERS,
            let place = place(header.stream_id)
        {
            streams[place].isUnsent = true
        }
        return 0
    }

    private func close(_ id: Int32, _ code: UInt32) -> Int32 {
        guard let place = place(id) else { return 0 }
        if !streams[place].isSettled {
            let tag = streams[place].tag
            // nghttp2 also closes streams above a GOAWAY's last stream with this code.
            let isRefused = code == NGHTTP2_REFUSED_STREAM.rawValue || streams[place].isUnsent
            let name = String(cString: nghttp2_http2_strerror(code))
            settle(place, isRefused ? .refused(tag: tag) : .lost(tag: tag, reason: name))
        }
        release(place)
        return 0
    }
}

/// Calls `body` with the session that a C callback was called for.
func withSession<Result>(
    _ this: UnsafeMutableRawPointer?, _ body: (ClientSession) -> Result
) -> Result {
    Unmanaged<ClientSession>.fromOpaque(this!)._withUnsafeGuaranteedRef(body)
}

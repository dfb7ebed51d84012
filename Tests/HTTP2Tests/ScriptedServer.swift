import HTTP2Server
import Turnstone
import Unix

@testable import HTTP2

/// A server that does what a test says, frame by frame, in the test's own thread.
///
/// It takes one connection at a time and does not decode header blocks.
final class ScriptedServer {
    struct Frame: Equatable {
        let type: UInt8
        let flags: UInt8
        let stream: UInt32
        let payload: [UInt8]

        var endsStream: Bool { type <= 1 && flags & 1 != 0 }
    }

    let port: UInt16
    /// Every frame that came.
    private(set) var frames: [Frame] = []
    /// The streams whose requests came whole, in their order.
    private(set) var requests: [UInt32] = []
    private(set) var connections = 0
    var settings = Frames.settings()
    /// Whether it speaks TLS with whoever connects.
    var shakesHands = true
    var answersPings = true

    private let listener: Socket
    private let context: TLSContext
    private var stream: TLSStream?
    private var isReady = false
    private var input: [UInt8] = []
    private var output: [UInt8] = []
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 16_384, alignment: 16)

    init(certificate: String, key: String) throws {
        context = try .server(certificate: certificate, key: key)
        listener = try .listen()
        port = listener.port
    }

    deinit { buffer.deallocate() }

    func send(_ frames: [UInt8]) { output += frames }

    func drop() {
        stream = nil
        isReady = false
    }

    /// Does whatever can be done without waiting.
    func step() throws {
        if stream == nil { try accept() }
        guard shakesHands, stream != nil else { return }
        if !isReady, stream!.handshake() == .moved(1) { isReady = true }
        guard isReady else { return }
        read()
        takeFrames()
        while !output.isEmpty, stream != nil {
            let result = output.withUnsafeBytes { stream!.write($0) }
            guard case .moved(let count) = result else { return }
            output.removeFirst(count)
        }
    }

    private func accept() throws {
        guard let socket = try listener.accept() else { return }
        stream = try .accepted(socket, context)
        connections += 1
        input = []
        output = settings
    }

    private func read() {
        while stream != nil {
            switch stream!.read(into: buffer) {
            case .moved(let count): input += buffer[..<count]
            case .wantsRead, .wantsWrite: return
            case .closed, .failed: drop()
            }
        }
    }

    private func takeFrames() {
        if input.starts(with: "PRI *".utf8) {
            guard input.count >= 24 else { return }
            input.removeFirst(24)
        }
        while input.count >= 9 {
            let length = Int(input[0]) << 16 | Int(input[1]) << 8 | Int(input[2])
            guard input.count >= 9 + length else { return }
            let number = input[5...8].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            let frame = Frame(
                type: input[3], flags: input[4], stream: number & 0x7fff_ffff,
                payload: Array(input[9..<(9 + length)]))
            input.removeFirst(9 + length)
            frames.append(frame)
            if frame.endsStream { requests.append(frame.stream) }
            if frame.type == 6, frame.flags == 0, answersPings {
                send(Frames.frame(6, flags: 1, stream: 0, frame.payload))
            }
        }
    }
}

/// Frames as they are written (RFC 9113 section 6).
enum Frames {
    static func frame(_ type: UInt8, flags: UInt8, stream: UInt32, _ payload: [UInt8]) -> [UInt8] {
        let count = UInt32(payload.count)
        return Array(number(count)[1...]) + [type, flags] + number(stream) + payload
    }

    /// - Parameter streams: how many may be open at once.
    static func settings(streams: UInt32? = nil, window: UInt32? = nil) -> [UInt8] {
        let limit = streams.map { [0, 3] + number($0) } ?? []
        let credit = window.map { [0, 4] + number($0) } ?? []
        return frame(4, flags: 0, stream: 0, limit + credit)
    }

    static func answer(
        _ stream: UInt32, status: String = "200", _ fields: [(String, String)] = [],
        body: String = ""
    ) -> [UInt8] {
        headers(stream, status: status, fields, ends: body.isEmpty)
            + (body.isEmpty ? [] : frame(0, flags: 1, stream: stream, Array(body.utf8)))
    }

    static func headers(
        _ stream: UInt32, status: String, _ fields: [(String, String)] = [], ends: Bool
    ) -> [UInt8] {
        // Literals without indexing (RFC 7541 section 6.2.2).
        var block: [UInt8] = []
        for (name, value) in [(":status", status)] + fields {
            block += [0, UInt8(name.utf8.count)] + name.utf8
            block += [UInt8(value.utf8.count)] + value.utf8
        }
        return frame(1, flags: ends ? 5 : 4, stream: stream, block)
    }

    static func reset(_ stream: UInt32, code: UInt32) -> [UInt8] {
        frame(3, flags: 0, stream: stream, number(code))
    }

    static func goAway(last: UInt32, code: UInt32 = 0, debugData: String = "") -> [UInt8] {
        frame(7, flags: 0, stream: 0, number(last) + number(code) + debugData.utf8)
    }

    private static func number(_ value: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> UInt32($0)) }
    }
}

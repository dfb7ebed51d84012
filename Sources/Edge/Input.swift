import Turnstone
import Unix

/// Standard input, read within one deadline for all of it.
struct Input {
    private var buffer: [UInt8] = []
    private var start = 0
    private var ended = false
    private let deadline: Int64

    /// - Parameter patience: milliseconds until a client that sends no more is given up.
    init(patience: Int64) {
        deadline = MonotonicClock.milliseconds + patience
    }

    /// An input that has come to its end: these bytes, and nothing from standard input.
    init(_ bytes: [UInt8]) {
        buffer = bytes
        ended = true
        deadline = 0
    }

    /// Whether nothing has come and nothing will.
    var isEmpty: Bool { ended && start == buffer.count }

    /// What has been read and not been taken yet.
    var pending: ArraySlice<UInt8> { buffer[start...] }

    mutating func take(_ count: Int) -> ArraySlice<UInt8> {
        defer { start += count }
        return buffer[start..<(start + count)]
    }

    /// Reads some more.
    /// - Returns: whether anything came; not at the end.
    mutating func fill() throws(Failure) -> Bool {
        guard !ended else { return false }
        guard StandardStreams.inputIsReady(within: deadline - MonotonicClock.milliseconds) else {
            throw .refused(.tooSlow, "the request did not arrive in time")
        }
        let bytes: [UInt8]
        do throws(SystemError) { bytes = try StandardStreams.readInput(upTo: 65_536) } catch {
            throw .malformed("the request broke off")
        }
        ended = bytes.isEmpty
        buffer += bytes
        return !ended
    }

    /// Takes exactly `count` bytes.
    mutating func read(_ count: Int) throws(Failure) -> [UInt8] {
        while pending.count < count {
            guard try fill() else { throw .malformed("the body is shorter than announced") }
        }
        return Array(take(count))
    }

    /// Takes all that comes, refusing more than `limit` bytes.
    mutating func readToEnd(limit: Int) throws(Failure) -> [UInt8] {
        while try fill() {
            guard pending.count <= limit else { throw tooLarge }
        }
        guard pending.count <= limit else { throw tooLarge }
        return Array(take(pending.count))
    }

    /// Takes one line without its end (CRLF or LF), refusing more than `limit` bytes.
    mutating func readLine(limit: Int) throws(Failure) -> String {
        var looked = 0
        while true {
            if let end = pending.dropFirst(looked).firstIndex(of: UInt8(ascii: "\n")) {
                var line = take(end + 1 - start).dropLast()
                if line.last == UInt8(ascii: "\r") { line.removeLast() }
                guard line.count <= limit else { throw headersTooLarge }
                return String(decoding: line, as: UTF8.self)
            }
            looked = pending.count
            guard looked <= limit else { throw headersTooLarge }
            guard try fill() else { throw .malformed("the request broke off") }
        }
    }

    /// Reads and drops what a client still sends, for up to a second, so that its system does not
    /// throw our answer away on meeting a closed door ("lingering close").
    mutating func drain() {
        let end = MonotonicClock.milliseconds + 1000
        while !ended, StandardStreams.inputIsReady(within: end - MonotonicClock.milliseconds) {
            do throws(SystemError) {
                ended = try StandardStreams.readInput(upTo: 65_536).isEmpty
            } catch { ended = true }
        }
    }
}

let tooLarge = Failure.refused(.tooLarge, "the body is too large")
let headersTooLarge = Failure.refused(.headersTooLarge, "the headers are too large")

import Turnstone
import Unix

/// Standard input, read within one deadline for the whole request.
struct Input {
    private var buffer: [UInt8] = []
    private var start = 0
    private var ended = false
    /// Why nothing more can be read. This is final, because the bytes before it would be missing.
    private var fault: Failure?
    private var isPeeking: Bool
    let deadline: Instant

    /// How long a client may take to send its request.
    private static let patience = Interval.seconds(10)

    /// Standard input. The deadline is earlier if this process was another program before, which has waited
    /// already.
    ///
    /// - Parameter peeking: whether the bytes that are read stay in standard input for its next reader.
    init(peeking: Bool = false) {
        let latest = Instant.now + Self.patience
        deadline = min(latest, inheritedDeadline ?? latest)
        isPeeking = peeking
    }

    /// An input that consists of these bytes, without standard input.
    init(_ bytes: [UInt8]) {
        buffer = bytes
        ended = true
        deadline = .first
        isPeeking = false
    }

    /// Whether the input has ended without a byte that is still to be taken.
    var isEmpty: Bool { ended && start == buffer.count }

    /// The bytes that were read and not taken yet.
    var pending: ArraySlice<UInt8> { buffer[start...] }

    mutating func take(_ count: Int) -> ArraySlice<UInt8> {
        defer { start += count }
        return buffer[start..<(start + count)]
    }

    /// Reads more bytes.
    ///
    /// - Returns: `false` at the end of the input.
    mutating func fill() throws(Failure) -> Bool {
        if let fault { throw fault }
        do throws(Failure) { return try readMore() } catch {
            fault = error
            throw error
        }
    }

    private mutating func readMore() throws(Failure) -> Bool {
        guard !ended else { return false }
        let isReady = try systemCalls(
            StandardStreams.inputIsReady(within: deadline - Instant.now))
        guard isReady else { throw tooSlow }
        if isPeeking { return try peekMore() }
        let bytes = try readingFromClient { () throws(SystemError) in
            try StandardStreams.readInput(upTo: 65_536)
        }
        ended = bytes.isEmpty
        buffer += bytes
        return !ended
    }

    /// Waits until there is more to see than before.
    private mutating func peekMore() throws(Failure) -> Bool {
        var isLast = false
        while true {
            let seen = try readingFromClient { () throws(SystemError) in
                try StandardStreams.peekInput(upTo: 65_536)
            }
            if seen.count > buffer.count {
                buffer = seen
                return true
            }
            if isLast { break }
            let left = deadline - Instant.now
            guard left > .seconds(0) else { throw tooSlow }
            // The bytes that were seen are still there, so waiting for input would return at once.
            isLast = try systemCalls(StandardStreams.inputEnds(within: min(left, .milliseconds(5))))
        }
        ended = true
        return false
    }

    /// Stops peeking: reads from the start and consumes.
    mutating func takeAll() {
        isPeeking = false
        ended = false
        buffer = []
        start = 0
    }

    /// Makes standard input start again with everything that was read from it.
    func putBack() throws(Failure) {
        guard !isPeeking else { return }
        try systemCalls(StandardStreams.replaceInput(with: buffer))
    }

    /// Reads exactly `count` bytes.
    mutating func read(_ count: Int) throws(Failure) -> [UInt8] {
        while pending.count < count {
            guard try fill() else { throw .malformed("the body is shorter than announced") }
        }
        return Array(take(count))
    }

    /// Reads to the end; refuses more than `limit` bytes.
    ///
    /// - Parameter name: what to call the input in a refusal.
    mutating func readToEnd(limit: Int, _ name: String = "body") throws(Failure) -> [UInt8] {
        while try fill() {
            guard pending.count <= limit else { throw tooLarge(limit, name) }
        }
        guard pending.count <= limit else { throw tooLarge(limit, name) }
        return Array(take(pending.count))
    }

    /// Reads one line without its end (CRLF or LF); refuses more than `limit` bytes.
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
            guard try fill() else { throw incomplete }
        }
    }

    private var incomplete: Failure {
        .malformed(
            buffer.isEmpty
                ? "no request on standard input"
                : "the request is incomplete: it ends before the end of a line")
    }

    private var tooSlow: Failure {
        .refused(
            .tooSlow,
            "the request did not arrive within \(Self.patience.seconds) seconds")
    }

    /// Reads and drops what a client still sends, for up to a second. Otherwise its system might discard our
    /// answer when the connection closes ("lingering close").
    ///
    /// - Parameter count: how many bytes the client announced, if it did; a host may leave its end of a pipe
    ///   open behind them.
    mutating func drain(upTo count: Int? = nil) {
        let end = Instant.now + .seconds(1)
        guard isPeeking || !ended else { return }
        var left = count ?? .max
        do throws(SystemError) {
            while left > 0, try StandardStreams.inputIsReady(within: end - Instant.now) {
                let bytes = try StandardStreams.readInput(upTo: min(left, 65_536))
                guard !bytes.isEmpty else { return }
                left -= bytes.count
            }
        } catch {}
    }
}

/// The variable in which ``dispatch(_:)`` passes the client's deadline, in milliseconds of the monotonic
/// clock, to the program that replaces it.
let deadlineVariable = "TURNSTONE_DEADLINE"

private var inheritedDeadline: Instant? {
    for (name, value) in ThisProcess.environment where name == deadlineVariable {
        return Int64(value).map { Instant(milliseconds: $0) }
    }
    return nil
}

private func readingFromClient(
    _ read: () throws(SystemError) -> [UInt8]
) throws(Failure) -> [UInt8] {
    do throws(SystemError) { return try read() } catch {
        guard error.errno.isBrokenPipe else { throw error.failure }
        throw .malformed("the client closed the connection before its request was complete")
    }
}

/// - Parameter limit: in bytes.
func tooLarge(_ limit: Int, _ name: String = "body") -> Failure {
    .refused(.tooLarge, "the \(name) has more than \(limit) bytes")
}

let headersTooLarge = Failure.refused(
    .headersTooLarge, "the header fields have more than \(headerLimit) bytes")

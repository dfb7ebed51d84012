import Turnstone
import Unix

/// Standard input, read within one deadline for all of it.
struct Input {
    private var buffer: [UInt8] = []
    private var start = 0
    private var ended = false
    /// Why nothing can be read. It stays so: what came first would be missing.
    private var fault: Failure?
    private var isLooking: Bool
    let deadline: Instant

    /// - Parameters:
    ///   - patience: how long a client may take to send all; less where the program that was this process before has
    ///     waited already.
    ///   - looking: whether what is read stays there for whoever reads standard input next.
    init(patience: Interval, looking: Bool = false) {
        let latest = Instant.now + patience
        deadline = min(latest, inheritedDeadline ?? latest)
        isLooking = looking
    }

    /// An input that has come to its end: these bytes, and nothing from standard input.
    init(_ bytes: [UInt8]) {
        buffer = bytes
        ended = true
        deadline = .first
        isLooking = false
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
        if isLooking { return try look() }
        let bytes = try brokenOff { () throws(SystemError) in
            try StandardStreams.readInput(upTo: 65_536)
        }
        ended = bytes.isEmpty
        buffer += bytes
        return !ended
    }

    /// Sees more than was seen before, as soon as there is more.
    private mutating func look() throws(Failure) -> Bool {
        var isLast = false
        while true {
            let seen = try brokenOff { () throws(SystemError) in
                try StandardStreams.peekInput(upTo: 65_536)
            }
            if seen.count > buffer.count {
                buffer = seen
                return true
            }
            if isLast { break }
            let left = deadline - Instant.now
            guard left > .seconds(0) else { throw tooSlow }
            // What has been seen is still there, so that waiting for input would not wait.
            isLast = try systemCalls(StandardStreams.inputEnds(within: min(left, .milliseconds(5))))
        }
        ended = true
        return false
    }

    /// From now on reads for good, and from the start.
    mutating func takeAll() {
        isLooking = false
        ended = false
        buffer = []
        start = 0
    }

    /// Lets standard input begin again with all that was read from it.
    func putBack() throws(Failure) {
        guard !isLooking else { return }
        try systemCalls(StandardStreams.replaceInput(with: buffer))
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
        let end = Instant.now + .seconds(1)
        guard isLooking || !ended else { return }
        do throws(SystemError) {
            while try StandardStreams.inputIsReady(within: end - Instant.now) {
                guard try !StandardStreams.readInput(upTo: 65_536).isEmpty else { return }
            }
        } catch {}
    }
}

/// What ``dispatch(_:)`` tells the program that takes its place: the moment, by the monotonic clock, until
/// which the client has time.
let deadlineVariable = "TURNSTONE_DEADLINE"

private var inheritedDeadline: Instant? {
    for (name, value) in ThisProcess.environment where name == deadlineVariable {
        return Int64(value).map { Instant(milliseconds: $0) }
    }
    return nil
}

private func brokenOff(
    _ read: () throws(SystemError) -> [UInt8]
) throws(Failure) -> [UInt8] {
    do throws(SystemError) { return try read() } catch {
        guard error.errno.isBrokenPipe else { throw error.failure }
        throw .malformed("the request broke off")
    }
}

private let tooSlow = Failure.refused(.tooSlow, "the request did not arrive in time")
let tooLarge = Failure.refused(.tooLarge, "the body is too large")
let headersTooLarge = Failure.refused(.headersTooLarge, "the headers are too large")

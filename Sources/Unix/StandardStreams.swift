import CUnix
import Turnstone

/// The three streams that every process has.
package enum StandardStreams {
    /// Whether standard input is, or may be, a connection. C: `fstat(2)`.
    package static var inputIsSocket: Bool { [socketKind, 0].contains(inputKind) }

    /// Waits until standard input can be read or has ended, for up to `patience`. C: `poll(2)`.
    package static func inputIsReady(within patience: Interval) throws(SystemError) -> Bool {
        try isReady(0, for: Int16(POLLIN), within: min(patience, .minutes(1)))
    }

    /// Reads the next bytes of standard input; an empty array at its end. C: `read(2)`.
    package static func readInput(upTo count: Int) throws(SystemError) -> [UInt8] {
        try bytes(upTo: count) { read(0, $0, count) }
    }

    /// Returns what ``readInput(upTo:)`` would return, or its beginning, without consuming it; nothing if the
    /// kind of input does not allow that. C: `recv(2)` with `MSG_PEEK`, `tee(2)`, `pread(2)`.
    package static func peekInput(upTo count: Int) throws(SystemError) -> [UInt8] {
        switch inputKind {
        case socketKind:
            return try bytes(upTo: count) { recv(0, $0, count, Int32(MSG_PEEK)) }
        case pipeKind:
            return try peekPipe(upTo: count)
        case fileKind:
            let place = lseek(0, 0, SEEK_CUR)
            return try bytes(upTo: count) { pread(0, $0, count, place) }
        default: return []
        }
    }

    private static var inputKind: mode_t {
        var status = stat()
        return fstat(0, &status) == 0 ? status.st_mode & 0o170000 : 0
    }

    private static func peekPipe(upTo count: Int) throws(SystemError) -> [UInt8] {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw SystemError("pipe", "standard input") }
        defer { for end in ends { close(end) } }
        let copied = retried { tee(0, ends[1], count, 0) }
        guard copied >= 0 else { throw SystemError("tee", "standard input") }
        guard copied > 0 else { return [] }
        return try bytes(upTo: copied) { read(ends[0], $0, copied) }
    }

    private static func bytes(
        upTo count: Int, _ read: (UnsafeMutablePointer<UInt8>?) -> Int
    ) throws(SystemError) -> [UInt8] {
        var result = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            result = retried { read(buffer.baseAddress) }
            filled = max(0, result)
        }
        guard result >= 0 else { throw SystemError("read", "standard input") }
        return bytes
    }

    /// Waits up to `patience` until no more input can follow what has arrived. C: `poll(2)`.
    package static func inputEnds(within patience: Interval) throws(SystemError) -> Bool {
        guard [socketKind, pipeKind].contains(inputKind) else { return true }
        return try isReady(0, for: Int16(cunix_sends_no_more), within: patience)
    }

    private static func isReady(
        _ descriptor: Int32, for events: Int16, within patience: Interval
    ) throws(SystemError) -> Bool {
        var waiting = pollfd(fd: descriptor, events: events, revents: 0)
        let ready = retried { poll(&waiting, 1, Int32(clamping: max(0, patience.milliseconds))) }
        guard ready >= 0 else { throw SystemError("poll", name(of: descriptor)) }
        return ready > 0
    }

    private static func name(of descriptor: Int32) -> String {
        ["standard input", "standard output", "standard error"][Int(descriptor)]
    }

    /// Makes standard input a file in memory that holds these bytes. C: `memfd_create(2)`, `dup2(2)`.
    package static func replaceInput(with bytes: [UInt8]) throws(SystemError) {
        let file = try FileDescriptor.inMemory(holding: bytes)
        try file.withNumber { (number) throws(SystemError) in
            guard retried({ dup2(number, 0) }) >= 0 else { throw SystemError("dup2", "input") }
        }
    }

    /// Writes all of `bytes` to standard output. A reader that has gone away is not an error.
    ///
    /// - Throws: `ETIMEDOUT` if the reader takes nothing for 30 seconds.
    package static func writeOutput(_ bytes: [UInt8]) throws(SystemError) {
        do throws(SystemError) { try write(bytes, to: 1, patience: .seconds(30)) } catch {
            guard !error.errno.isBrokenPipe || error.errno == .timedOut else { return }
            throw error
        }
    }

    /// Writes to standard error. If an inetd has made the client's connection our standard error, it writes
    /// to the system's log instead: the log is not for the client. C: `syslog(3)`.
    package static func writeErrors(_ text: String) {
        if isClientOnErrors { return cunix_syslog(text) }
        // There is nowhere to report this.
        do throws(SystemError) { try write(Array(text.utf8), to: 2, patience: .seconds(1)) } catch {
        }
    }

    /// Whether standard error goes into this file.
    package static func errorsGo(to path: String) -> Bool {
        var errors = stat()
        var file = stat()
        return fstat(2, &errors) == 0 && stat(path, &file) == 0 && errors.st_ino == file.st_ino
            && errors.st_dev == file.st_dev
    }

    /// From now on appends standard error to a file. C: `dup2(2)`.
    package static func sendErrors(to path: String) throws(SystemError) {
        let file = try FileDescriptor.open(path, .append)
        try file.withNumber { (number) throws(SystemError) in
            guard retried({ dup2(number, 2) }) >= 0 else { throw SystemError("dup2", path) }
        }
    }

    /// Whether standard output and standard error are one socket other than systemd's journal.
    private static var isClientOnErrors: Bool {
        var output = stat()
        var errors = stat()
        guard fstat(1, &output) == 0, fstat(2, &errors) == 0 else { return false }
        return output.st_mode & 0o170000 == socketKind
            && output.st_ino == errors.st_ino
            && output.st_dev == errors.st_dev
            && journal != "\(errors.st_dev):\(errors.st_ino)"
    }

    /// The device and inode of the journal's socket, if systemd has given us one (systemd.exec(5),
    /// `JOURNAL_STREAM`). Looked up once: a drainer logs a line for each notification.
    private static let journal =
        ThisProcess.environment.first { $0.name == "JOURNAL_STREAM" }?.value

    /// - Parameter patience: how long the reader may take nothing, if the host has made the stream
    ///   non-blocking.
    private static func write(
        _ bytes: [UInt8], to descriptor: Int32, patience: Interval
    ) throws(SystemError) {
        let name = name(of: descriptor)
        var done = 0
        while done < bytes.count {
            let count = bytes.withUnsafeBytes { buffer in
                retried { CUnix.write(descriptor, buffer.baseAddress! + done, bytes.count - done) }
            }
            if count > 0 {
                done += count
                continue
            }
            guard count < 0, Errno.current == .wouldBlock else { throw SystemError("write", name) }
            guard try isReady(descriptor, for: Int16(POLLOUT), within: patience) else {
                throw SystemError("write", name, .timedOut)
            }
        }
    }

    /// Ends standard output; input stays open. C: `shutdown(2)`.
    package static func endOutput() { shutdown(1, Int32(SHUT_WR)) }
}

// S_IFSOCK, S_IFIFO and S_IFREG, which are macros over macros.
private let socketKind: mode_t = 0o140000
private let pipeKind: mode_t = 0o010000
private let fileKind: mode_t = 0o100000

import CUnix

/// The three streams that every process has.
package enum StandardStreams {
    /// Waits until standard input can be read or has ended, for up to `milliseconds`. C: `poll(2)`.
    package static func inputIsReady(within milliseconds: Int64) -> Bool {
        var waiting = pollfd(fd: 0, events: Int16(POLLIN), revents: 0)
        return retried { poll(&waiting, 1, Int32(max(0, min(milliseconds, 60_000)))) } > 0
    }

    /// The next bytes of standard input; none at its end. C: `read(2)`.
    package static func readInput(upTo count: Int) throws(SystemError) -> [UInt8] {
        var result = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            result = retried { read(0, buffer.baseAddress, count) }
            filled = max(0, result)
        }
        guard result >= 0 else { throw SystemError("read", "standard input") }
        return bytes
    }

    /// Writes all of `bytes`; a reader that went away is no concern of ours.
    package static func writeOutput(_ bytes: [UInt8]) { write(bytes, to: 1) }

    /// Writes to standard error, or to the system's log where an inetd has made the client's connection our
    /// standard error: what we log is not for the client. C: `syslog(3)`.
    package static func writeErrors(_ text: String) {
        if isClientOnErrors { return cunix_syslog(text) }
        write(Array(text.utf8), to: 2)
    }

    /// Whether what is written to standard error goes into this file.
    package static func errorsGo(to path: String) -> Bool {
        var errors = stat()
        var file = stat()
        return fstat(2, &errors) == 0 && stat(path, &file) == 0 && errors.st_ino == file.st_ino
            && errors.st_dev == file.st_dev
    }

    /// Writes to the end of a file from now on whatever goes to standard error. C: `dup2(2)`.
    package static func sendErrors(to path: String) throws(SystemError) {
        let file = try FileDescriptor.open(path, .append)
        guard retried({ dup2(file.number, 2) }) >= 0 else { throw SystemError("dup2", path) }
    }

    /// Whether standard output and standard error are one socket.
    private static var isClientOnErrors: Bool {
        var output = stat()
        var errors = stat()
        guard fstat(1, &output) == 0, fstat(2, &errors) == 0 else { return false }
        return output.st_mode & 0o170000 == 0o140000  // S_IFSOCK
            && output.st_ino == errors.st_ino
            && output.st_dev == errors.st_dev
    }

    private static func write(_ bytes: [UInt8], to descriptor: Int32) {
        var done = 0
        while done < bytes.count {
            let count = bytes.withUnsafeBytes { buffer in
                retried { CUnix.write(descriptor, buffer.baseAddress! + done, bytes.count - done) }
            }
            guard count > 0 else { return }
            done += count
        }
    }

    /// Says that no more output follows, while input stays open. C: `shutdown(2)`.
    package static func endOutput() { shutdown(1, Int32(SHUT_WR)) }
}

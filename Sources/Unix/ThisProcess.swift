import CStart
import CUnix
import Turnstone

/// This process: its arguments and environment, and requests to terminate it.
package enum ThisProcess {
    /// The environment, entry by entry: a host may pass a name twice, and a lookup by name would hide that.
    package static var environment: [(name: String, value: String)] {
        var entries: [(name: String, value: String)] = []
        guard var place = cunix_environ() else { return [] }
        while let entry = place.pointee {
            let text = Array(String(cString: entry).utf8)
            if let equals = text.firstIndex(of: UInt8(ascii: "=")) {
                entries.append(
                    (
                        String(decoding: text[..<equals], as: UTF8.self),
                        String(decoding: text[(equals + 1)...], as: UTF8.self)
                    ))
            }
            place += 1
        }
        return entries
    }

    /// The arguments after the program's name; none if they are not known. Embedded Swift has no
    /// `CommandLine`, and elsewhere that reads a file of `/proc`.
    package static var arguments: [String] { Array(words.dropFirst()) }

    /// The last part of the name by which it was started.
    package static var name: String { words.first.map { Files.name(of: $0) } ?? "turnstone" }

    private static var words: [String] {
        var words: [String] = []
        guard var place = cstart_words() else { return [] }
        while let word = place.pointee {
            words.append(String(cString: word))
            place += 1
        }
        return words
    }

    package static var id: Int32 { getpid() }

    /// The most memory that it has used at once, in KiB. C: `getrusage(2)`.
    package static var peakMemory: Int {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        return Int(usage.ru_maxrss)
    }

    /// Its executable's absolute path.
    package static var executable: String? { Files.target(ofLink: "/proc/self/exe") }

    /// Blocks SIGTERM and SIGINT from now on: they no longer end the process or interrupt a sleep, and
    /// ``isTerminationRequested`` reports them. C: `sigprocmask(2)`.
    package static func deferTermination() {
        var set = terminationSignals
        sigprocmask(SIG_BLOCK, &set, nil)
    }

    /// Whether SIGTERM or SIGINT has arrived since ``deferTermination()``. C: `sigpending(2)`.
    package static var isTerminationRequested: Bool {
        var pending = sigset_t()
        sigpending(&pending)
        return sigismember(&pending, SIGTERM) == 1 || sigismember(&pending, SIGINT) == 1
    }

    private static var terminationSignals: sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        sigaddset(&set, SIGTERM)
        sigaddset(&set, SIGINT)
        return set
    }

    /// Prepares the process; every program calls this first. A standard stream that the host has closed is
    /// opened as `/dev/null`: otherwise the next file that is opened would get its number, and the log would
    /// be written into it. C: `open(2)`, `signal(2)`.
    @export(interface)
    package static func begin() {
        for number: Int32 in 0...2
        where cunix_fcntl(number, F_GETFD, 0) < 0 && Errno.current == .badDescriptor {
            // open(2) returns the lowest free number, which is this one.
            guard retried({ cunix_open("/dev/null", O_RDWR, 0) }) == number else { exit(111) }
        }
        ignoreBrokenPipes()
    }

    /// Ignores SIGPIPE: a peer that is gone becomes an error of `write` instead of ending this process.
    package static func ignoreBrokenPipes() { cunix_ignore(SIGPIPE) }

    /// Sends SIGTERM to a process. Nothing happens if it does not exist or we may not signal it.
    /// C: `kill(2)`.
    package static func terminate(_ process: Int32) { _ = kill(process, SIGTERM) }

    package static func exit(_ code: Int32) -> Never { CUnix.exit(code) }

    /// Replaces this process with another program, which keeps the standard streams and the environment plus
    /// one variable. Returns only if that fails. C: `execv(3)`.
    @export(interface)
    package static func become(
        _ path: String, adding variable: (name: String, value: String)
    ) -> SystemError {
        setenv(variable.name, variable.value, 1)
        var words = [strdup(path), nil]
        defer { free(words[0]) }
        execv(path, &words)
        return SystemError("start", path)
    }
}

import CUnix
import Glibc
import Turnstone
import Unix

/// A program that a test has started, with a stream of its own for each of its standard ones.
package final class RunningProgram {
    package let id: pid_t
    private let path: String
    private var input: ArraySlice<UInt8>
    private let inputStaysOpen: Bool
    /// Our ends of its input, its output and its errors; -1 once closed.
    private var streams: [Int32]
    private var outputs: [[UInt8]] = [[], []]
    private var isReaped = false

    init(
        _ path: String, _ arguments: [String], input: [UInt8], inputStaysOpen: Bool,
        entries: [String]
    ) throws {
        self.path = path
        self.input = input[...]
        self.inputStaysOpen = inputStaysOpen
        cunix_ignore(SIGPIPE)  // a program may answer and end before it has read everything
        let pairs = try (0..<3).map { _ in try makeStream() }
        let theirs = pairs.map(\.theirs)
        streams = pairs.map(\.ours)
        defer { for end in theirs { close(end) } }
        id = try spawn(path, [path] + arguments, entries) { actions in
            for (number, stream) in theirs.enumerated() {
                posix_spawn_file_actions_adddup2(&actions, stream, Int32(number))
            }
        }
        for stream in streams { _ = cunix_fcntl(stream, F_SETFL, Int(O_NONBLOCK)) }
        if !input.isEmpty { feed() }
        if self.input.isEmpty, !inputStaysOpen { closeStream(0) }
    }

    deinit {
        if !isReaped {
            // The whole group: strace's end leaves the program that it traces running.
            kill(-id, SIGKILL)
            waitpid(id, nil, 0)
        }
        for stream in streams where stream >= 0 { close(stream) }
    }

    /// Sends a signal, such as `SIGKILL`.
    package func send(_ signal: Int32) { kill(id, signal) }

    /// Feeds and reads the program until it has closed its streams, and waits for its end.
    ///
    /// - Parameter timeLimit: in seconds. The standard one tells a program that hangs from one on a busy
    ///   machine.
    package func end(timeLimit: Double = 240) throws -> EndedProgram {
        let deadline = Instant.now + .milliseconds(Int64(timeLimit * 1000))
        while streams[1] >= 0 || streams[2] >= 0 {
            guard Instant.now < deadline else {
                throw TestFailure("\(path) has not ended within \(timeLimit) s")
            }
            exchange()
        }
        var status: Int32 = 0
        while waitpid(id, &status, WNOHANG) == 0 {
            guard Instant.now < deadline else {
                throw TestFailure("\(path) closed its streams and goes on")
            }
            sleep(for: .milliseconds(1))
        }
        isReaped = true
        let signal = status & 0x7f
        return EndedProgram(
            exitCode: signal == 0 ? (status >> 8) & 0xff : -signal, output: outputs[0],
            errorOutput: outputs[1])
    }

    /// Moves the bytes that can be moved; waits up to a fifth of a second for some.
    private func exchange() {
        if input.isEmpty, !inputStaysOpen { closeStream(0) }
        var waiting = streams.enumerated().map { place, stream in
            pollfd(
                fd: place == 0 && input.isEmpty ? -1 : stream,
                events: Int16(place == 0 ? POLLOUT : POLLIN), revents: 0)
        }
        guard poll(&waiting, nfds_t(waiting.count), 200) > 0 else { return }
        if waiting[0].revents != 0 { feed() }
        for place in 1...2 where waiting[place].revents != 0 { drain(place) }
    }

    private func feed() {
        let count = input.withUnsafeBytes { write(streams[0], $0.baseAddress, $0.count) }
        guard count >= 0 else {
            if Errno.current != .wouldBlock { closeStream(0) }
            return
        }
        input = input.dropFirst(count)
    }

    private func drain(_ place: Int) {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = read(streams[place], &buffer, buffer.count)
        if count > 0 { outputs[place - 1] += buffer[..<count] }
        if count == 0 || (count < 0 && Errno.current != .wouldBlock) { closeStream(place) }
    }

    private func closeStream(_ place: Int) {
        guard streams[place] >= 0 else { return }
        close(streams[place])
        streams[place] = -1
        if place == 0 { input = [] }
    }
}

/// Two ends of a stream, close-on-exec from the start (`pipe(2)` has no such flag): another test's
/// program, started at the same moment, must not keep this one's stream open.
private func makeStream() throws -> (ours: Int32, theirs: Int32) {
    var ends: [Int32] = [-1, -1]
    let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else {
        throw TestFailure("unable to make a stream")
    }
    return (ends[0], ends[1])
}

/// Starts a process in a process group of its own, with the signals as they are by default.
///
/// - Parameter redirect: sets its standard streams. It gets no other descriptor.
func spawn(
    _ path: String, _ words: [String], _ entries: [String],
    redirect: (inout posix_spawn_file_actions_t) -> Void
) throws -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    redirect(&actions)
    // Foundation's pipes are not close-on-exec: a simulator would not see its input's end.
    posix_spawn_file_actions_addclosefrom_np(&actions, 3)
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var signals = sigset_t()
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    sigaddset(&signals, SIGPIPE)
    posix_spawnattr_setsigdefault(&attributes, &signals)
    posix_spawnattr_setpgroup(&attributes, 0)
    posix_spawnattr_setflags(
        &attributes,
        Int16(POSIX_SPAWN_SETSIGMASK) | Int16(POSIX_SPAWN_SETSIGDEF)
            | Int16(POSIX_SPAWN_SETPGROUP))

    var arguments = words.map { strdup($0) } + [nil]
    var environment = entries.map { strdup($0) } + [nil]
    defer { for text in arguments + environment { free(text) } }
    var id: pid_t = 0
    let error = posix_spawn(&id, path, &actions, &attributes, &arguments, &environment)
    guard error == 0 else {
        throw TestFailure(
            error == ENOENT
                ? """
                unable to start \(path): it does not exist. Run infra/build, or set TURNSTONE_BIN to a \
                folder with the programs
                """
                : "unable to start \(path): \(String(cString: strerror(error)))")
    }
    return id
}

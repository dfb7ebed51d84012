import CUnix
import Turnstone

/// This process: what it was started with, and how it is told to end.
package enum ThisProcess {
    /// The environment, entry by entry: a host may pass a name twice, which look-ups by name hide.
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

    /// The arguments behind its name; none where they cannot be read. Embedded Swift has no `CommandLine`.
    package static var arguments: [String] {
        let words: [UInt8]?
        do throws(SystemError) { words = try Files.contents("/proc/self/cmdline") } catch {
            return []
        }
        return (words ?? []).split(separator: 0, omittingEmptySubsequences: false)
            .dropFirst().dropLast()  // each ends in NUL
            .map { String(decoding: $0, as: UTF8.self) }
    }

    package static var id: Int32 { getpid() }

    /// The most memory that it has had, in KiB. C: `getrusage(2)`.
    package static var mostMemory: Int {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        return Int(usage.ru_maxrss)
    }

    /// Its executable's absolute path.
    package static var executable: String? { Files.target(ofLink: "/proc/self/exe") }

    /// From now on SIGTERM and SIGINT wait to be asked for instead of ending the process; they end no
    /// sleep either. C: `sigprocmask(2)`.
    package static func holdEnd() {
        var set = endSignals
        sigprocmask(SIG_BLOCK, &set, nil)
    }

    /// Whether somebody has asked this process to end since ``holdEnd()``. C: `sigpending(2)`.
    package static var isEndWanted: Bool {
        var pending = sigset_t()
        sigpending(&pending)
        return sigismember(&pending, SIGTERM) == 1 || sigismember(&pending, SIGINT) == 1
    }

    private static var endSignals: sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        sigaddset(&set, SIGTERM)
        sigaddset(&set, SIGINT)
        return set
    }

    /// What each program does before all else: a standard stream that its host has closed becomes `/dev/null`, or the
    /// next file that is opened would take its number, and the log would go into it. C: `open(2)`, `signal(2)`.
    package static func begin() {
        for number: Int32 in 0...2
        where cunix_fcntl(number, F_GETFD, 0) < 0 && Errno.current == .badDescriptor {
            // The lowest number that is free is this one.
            guard retried({ cunix_open("/dev/null", O_RDWR, 0) }) == number else { exit(111) }
        }
        ignoreBrokenPipes()
    }

    /// A peer that went away is an error of `write`, not this process's death.
    package static func ignoreBrokenPipes() { cunix_ignore(SIGPIPE) }

    /// Asks a process to end; where it may not be asked, or is none, nothing happens. C: `kill(2)`.
    package static func askToEnd(_ process: Int32) { _ = kill(process, SIGTERM) }

    package static func exit(_ code: Int32) -> Never { CUnix.exit(code) }

    /// Lets another program take this process over, with its standard streams, and its environment as it is
    /// but for one variable. C: `execv(3)`, which returns only when it fails.
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

/// A program that this one started.
package struct ChildProcess {
    package let id: Int32

    /// Where a child's standard stream goes.
    package enum Stream {
        case inherited
        case null
        /// Appended to a file that is made where missing.
        case file(String)
        case open(FileDescriptor)
    }

    /// What ends a process: asking it to, or not asking.
    package enum End {
        case terminate
        case kill
    }

    /// Starts `path` in a session of its own, with no descriptor of ours but the three standard
    /// ones, so that a host waiting for our streams to close does not wait for the child.
    /// C: `posix_spawn(3)`.
    package static func start(
        _ path: String, _ arguments: [String] = [],
        environment: [(name: String, value: String)] = ThisProcess.environment,
        input: Stream = .null, output: Stream, errors: Stream
    ) throws(SystemError) -> ChildProcess {
        // The actions know nothing but the numbers of what is open.
        defer { withExtendedLifetime((input, output, errors)) {} }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        add(input, as: 0, to: &actions)
        add(output, as: 1, to: &actions)
        add(errors, as: 2, to: &actions)
        posix_spawn_file_actions_addclosefrom_np(&actions, 3)

        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(
            &attributes, Int16(cunix_spawn_setsid) | Int16(POSIX_SPAWN_SETSIGMASK))

        var id: pid_t = 0
        var words = ([path] + arguments).map { strdup($0) } + [nil]
        var entries = environment.map { strdup("\($0.name)=\($0.value)") } + [nil]
        defer { for text in words + entries { free(text) } }
        let error = posix_spawn(&id, path, &actions, &attributes, &words, &entries)
        guard error == 0 else { throw SystemError("start", path, Errno(rawValue: error)) }
        return ChildProcess(id: id)
    }

    private static func add(
        _ stream: Stream, as number: Int32, to actions: inout posix_spawn_file_actions_t
    ) {
        switch stream {
        case .inherited: break
        case .null:
            let mode = number == 0 ? O_RDONLY : O_WRONLY
            posix_spawn_file_actions_addopen(&actions, number, "/dev/null", mode, 0)
        case .file(let path):
            posix_spawn_file_actions_addopen(
                &actions, number, path, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        case .open(let descriptor):
            posix_spawn_file_actions_adddup2(&actions, descriptor.number, number)
        }
    }

    /// Waits for its end. C: `waitpid(2)`.
    /// - Returns: its exit code, or -1 where a signal ended it.
    @discardableResult
    package func wait() -> Int32 {
        var status: Int32 = 0
        _ = retried { waitpid(id, &status, 0) }
        return cunix_exit_status(status)
    }

    /// Waits for its end, for up to `patience`. C: `waitpid(2)`, `sigtimedwait(2)`.
    /// - Returns: its exit code, or minus the signal that ended it; `nil` while it goes on.
    package func end(within patience: Interval) -> Int32? {
        let deadline = Instant.now + patience
        // Blocked before each look: an end between the look and the wait stays pending, and is waited for no more.
        var children = sigset_t()
        sigemptyset(&children)
        sigaddset(&children, SIGCHLD)
        sigprocmask(SIG_BLOCK, &children, nil)
        while true {
            var status: Int32 = 0
            if retried({ waitpid(id, &status, WNOHANG) }) == id {
                let signal = cunix_end_signal(status)
                return signal == 0 ? cunix_exit_status(status) : -signal
            }
            let left = (deadline - Instant.now).milliseconds
            guard left > 0 else { return nil }
            var pause = timespec(
                tv_sec: Int(left / 1000), tv_nsec: Int(left % 1000) * 1_000_000)
            sigtimedwait(&children, nil, &pause)
        }
    }

    /// Ends it and what it has started, if that is still in its session. C: `kill(2)`.
    package func end(by way: End) {
        kill(-id, way == .kill ? SIGKILL : SIGTERM)
    }
}

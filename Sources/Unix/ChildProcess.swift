import CUnix
import Turnstone

/// A program that this one started.
package struct ChildProcess {
    package let id: Int32

    /// Where a child's standard stream goes.
    package enum Stream {
        case inherited
        case null
        /// Appended to a file, which is created if missing.
        case file(String)
        case open(FileDescriptor)
    }

    /// How a process is ended: SIGTERM or SIGKILL.
    package enum End {
        case terminate
        case kill
    }

    /// Starts `path` in its own session. It inherits only the three standard descriptors, so a host that
    /// waits for our streams to close does not wait for the child. C: `posix_spawn(3)`.
    @export(interface)
    package static func start(
        _ path: String, _ arguments: [String] = [],
        environment: [(name: String, value: String)] = ThisProcess.environment,
        input: Stream = .null, output: Stream, errors: Stream
    ) throws(SystemError) -> ChildProcess {
        // A parent may have left it ignored, which execve(2) keeps: then nobody could wait for a child.
        cunix_restore(SIGCHLD)
        // The actions hold only the numbers of the descriptors.
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

    /// Waits until the process has ended. C: `waitpid(2)`.
    ///
    /// - Returns: its exit code, or -1 if a signal ended it.
    @export(interface)
    @discardableResult
    package func wait() -> Int32 {
        var status: Int32 = 0
        _ = retried { waitpid(id, &status, 0) }
        return cunix_exit_status(status)
    }

    /// Waits up to `patience` for the process to end. C: `waitpid(2)`, `sigtimedwait(2)`.
    ///
    /// - Returns: its exit code, or minus the signal that ended it; `nil` if it is still running.
    @export(interface)
    package func end(within patience: Interval) -> Int32? {
        let deadline = Instant.now + patience
        // SIGCHLD is blocked before each check: if the child ends between the check and the wait, the signal
        // stays pending and ends the wait at once.
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

    /// Signals the process and those that it has started, as far as they are still in its session.
    /// C: `kill(2)`.
    @export(interface)
    package func end(by way: End) {
        kill(-id, way == .kill ? SIGKILL : SIGTERM)
    }
}

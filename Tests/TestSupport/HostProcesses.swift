import CUnix
import Foundation

/// A host's processes, in a process group of their own that ends with this value, and with the tests
/// however these end.
final class HostProcesses {
    private let group: pid_t
    /// Closed, be it by this process' death, it tells the shell that watches to end the group.
    private let lifeline: Int32

    /// Starts commands, each a list of words, in `folder` and with exactly these variables.
    ///
    /// - Parameter log: gets their standard output and standard error.
    init(_ commands: [[String]], in folder: String, variables: [String: String], log: String) throws
    {
        var ends: [Int32] = [-1, -1]
        // Close-on-exec from the start: a program of another test must not hold our end.
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else {
            throw TestFailure("unable to make a pair of sockets")
        }
        defer { close(ends[0]) }
        let started = commands.map { $0.map(quoted).joined(separator: " ") + " </dev/null &" }
        let script = (["cd \(quoted(folder))"] + started + ["cat", "kill -KILL 0"])
            .joined(separator: "\n")
        do {
            group = try spawn(
                "/bin/sh", ["/bin/sh", "-c", script], variables.map { "\($0.key)=\($0.value)" }
            ) { actions in
                posix_spawn_file_actions_adddup2(&actions, ends[0], 0)
                let flags = O_WRONLY | O_CREAT | O_APPEND
                posix_spawn_file_actions_addopen(&actions, 1, log, flags, 0o600)
                posix_spawn_file_actions_adddup2(&actions, 1, 2)
            }
        } catch {
            close(ends[1])
            throw error
        }
        lifeline = ends[1]
    }

    deinit {
        close(lifeline)
        kill(-group, SIGKILL)
        waitpid(group, nil, 0)
    }
}

private func quoted(_ word: String) -> String { "'\(word.replacing("'", with: #"'\''"#))'" }

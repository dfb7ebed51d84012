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
    /// - Parameter log: takes what they write to either output.
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
                ["/bin/sh", "-c", script], variables.map { "\($0.key)=\($0.value)" },
                input: ends[0], log: log)
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

private func spawn(
    _ words: [String], _ entries: [String], input: Int32, log: String
) throws -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, input, 0)
    posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_APPEND, 0o600)
    posix_spawn_file_actions_adddup2(&actions, 1, 2)
    // Another test's pipe that stays open here would never end for its reader.
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
        Int16(POSIX_SPAWN_SETSIGMASK) | Int16(POSIX_SPAWN_SETSIGDEF) | Int16(POSIX_SPAWN_SETPGROUP))

    var arguments = words.map { strdup($0) } + [nil]
    var environment = entries.map { strdup($0) } + [nil]
    defer { for text in arguments + environment { free(text) } }
    var id: pid_t = 0
    let error = posix_spawn(&id, words[0], &actions, &attributes, &arguments, &environment)
    guard error == 0 else { throw TestFailure("unable to start \(words[0]): errno \(error)") }
    return id
}

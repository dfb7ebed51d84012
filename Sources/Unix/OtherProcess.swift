import CUnix

/// Another process, known by its id and by the name of its executable: another process may have the id by
/// now.
package struct OtherProcess: Equatable {
    package let id: Int32

    /// - Returns: `nil` if no process with this id runs that program.
    package init?(_ id: Int64, program: String) {
        guard id > 1, let id = Int32(exactly: id),
            let path = Files.target(ofLink: "/proc/\(id)/exe")
        else { return nil }
        // " (deleted)" follows if a newer program has replaced it.
        guard [program, "\(program) (deleted)"].contains(Files.name(of: path)) else { return nil }
        self.id = id
    }

    /// Asks it to end. C: `kill(2)`.
    package func terminate() { ThisProcess.terminate(id) }
}

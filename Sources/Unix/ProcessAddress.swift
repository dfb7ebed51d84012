import CUnix

/// A process of any machine, as a file that several machines share may name it.
package struct ProcessAddress: Equatable, Sendable {
    /// The machine's name; `nil` if the file does not say it.
    package let host: String?
    package let id: Int64?

    package init(host: String?, id: Int64?) {
        self.host = host
        self.id = id
    }

    /// The address of this process.
    package static var own: ProcessAddress {
        ProcessAddress(host: ThisMachine.name, id: Int64(ThisProcess.id))
    }

    /// Whether it is known to have ended: it ran on this machine, and no program runs under its id. C:
    /// `kill(2)` with signal 0.
    package var isGone: Bool {
        guard let host, let id = id.flatMap({ Int32(exactly: $0) }), id > 0,
            host == ThisMachine.name
        else { return false }
        guard kill(id, 0) == 0 else { return Errno.current == .noProcess }
        // It may wait for its parent to take note of its end. The link of a living one may be unreadable.
        return Files.target(ofLink: "/proc/\(id)/exe") == nil && Errno.current == .noEntry
    }
}

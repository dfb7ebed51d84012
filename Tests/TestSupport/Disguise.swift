import Foundation

/// Lets servers that refuse to run as root run all the same: in a namespace of its own, root has another
/// number.
package enum Disguise {
    /// The words before a command.
    package static let words =
        getuid() == 0 ? ["/usr/bin/unshare", "--user", "--map-user=1", "--map-group=1"] : []

    /// Whether the kernel allows it, which it does not in a changed root folder.
    package static let isPossible =
        words.isEmpty
        || (try? Programs.start(at: words[0], words.dropFirst() + ["/bin/true"], entries: []).end())?
            .exitCode == 0
}

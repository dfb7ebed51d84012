import Foundation

/// Who refuses to serve as root need not know that it does: in a namespace of its own it has another number.
package enum Disguise {
    /// What a command is started by.
    package static let words =
        getuid() == 0 ? ["/usr/bin/unshare", "--user", "--map-user=1", "--map-group=1"] : []

    /// Whether the kernel lets us, which it does not in a changed root folder.
    package static let isPossible =
        words.isEmpty
        || (try? Programs.start(at: words[0], words.dropFirst() + ["/bin/true"], entries: []).end())?
            .exitCode == 0
}

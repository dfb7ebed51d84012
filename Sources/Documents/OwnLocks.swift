/// What is left of version 2, in which each document had a lock file of its own, `NAME.json.lock`.
package enum OwnLocks {
    /// Nothing.
    case gone
    /// Files that nobody locks any more.
    case left
    /// Programs of version 2 may be running, as long as the function returns `true`. It is called with the
    /// shared lock held, so that all programs agree about a document.
    case held(() -> Bool)

    var areGone: Bool { if case .gone = self { true } else { false } }

    var areHeld: Bool { if case .held(let isHeld) = self { isHeld() } else { false } }
}

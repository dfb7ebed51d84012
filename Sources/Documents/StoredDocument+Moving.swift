import Turnstone
import Unix

extension StoredDocument {
    /// Gives the document the name of another one that does not exist, in one step: readers find it under
    /// either name.
    ///
    /// - Parameter change: changes the content before that, with both documents' locks held. If it throws,
    ///   nothing is changed.
    /// - Returns: whether the name was free.
    ///
    /// The instant of commit is the `rename`. C: `rename(2)`.
    package func move(
        to target: StoredDocument<Content>, _ change: (inout Content) throws(Failure) -> Void
    ) throws(Failure) -> Bool {
        try whenShown { (start) throws(Failure) in
            try Lock.holding(lock, target.lock) { (own, other) throws(Failure) in
                try move(own, to: target, other, change, since: start)
            }
        }
    }

    private func move(
        _ own: borrowing Lock, to target: StoredDocument<Content>, _ other: borrowing Lock,
        _ change: (inout Content) throws(Failure) -> Void, since start: Instant
    ) throws(Failure) -> Bool? {
        guard let present = try target.current(other, since: start) else { return nil }
        guard present.revision == 0 else { return false }
        var isMoved = false
        // A document that is not made leaves nothing behind.
        defer { if !isMoved { other.discard() } }
        guard var stored = try current(own, since: start) else { return nil }
        var content = stored.isNumbered ? stored.content : try checked(stored.content)
        try change(&content)
        let inFile = stored.inFile
        // The other name has no number, so it begins above the revisions of all copies that had this name.
        stored.isNumbered = false
        stored = stored.followed(by: content)
        let text = try stored.checkedText()
        try checkIsUnchanged(since: inFile, under: own)
        try systemCalls(Files.replace(path, with: text))
        own.remember(stored.revision)
        try recorded(content, Content()) { () throws(Failure) in
            try target.recorded(Content(), content) { () throws(Failure) in
                try systemCalls(Files.makeFolder(Files.parent(of: target.path)))
                try checkIsUnchanged(since: stored.revision, under: own)
                try own.forget()
                try target.checkIsUnchanged(since: 0, under: other)
                try systemCalls(Files.rename(path, target.path))
            }
        }
        isMoved = true
        other.remember(stored.revision)
        own.discard()
        Files.remove(Files.temporary(for: path))
        for moved in [target.path, path] { try systemCalls(Files.synchronizeFolder(of: moved)) }
        return true
    }

    private func recorded(
        _ before: Content, _ after: Content, _ commit: () throws(Failure) -> Void
    ) throws(Failure) {
        guard let recording else { return try commit() }
        try recording(before, after, commit)
    }
}

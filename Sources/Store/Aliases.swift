import Documents
import Turnstone

/// Which users have which aliases.
///
/// The index is written before the user's document when an alias is added, and after it when an alias is
/// removed. So a crash in between leaves an index that names too many users, never too few, and every look-up
/// checks the users' documents.
package struct Aliases {
    let state: State

    /// The user who has an alias; `nil` if nobody has it.
    package func owner(of alias: Alias) throws(Failure) -> UserID? {
        for user in try state.aliasDocuments[alias].read()?.users ?? [] {
            if try has(user, alias) { return user }
        }
        return nil
    }

    /// The user whom the index names for an alias that nobody has, if the user has no document: an erasure
    /// was killed before its end.
    package func erasedOwner(of alias: Alias) throws(Failure) -> UserID? {
        for user in try state.aliasDocuments[alias].read()?.users ?? [] {
            if try state.users[user].read() == nil { return user }
        }
        return nil
    }

    /// Changes a user's document, which may get these aliases and lose others.
    ///
    /// - Parameter claimed: the aliases that the user may have afterwards and that may be new.
    /// - Throws: a conflict if another user has one of them. Then nothing is changed.
    package func update<Result>(
        _ user: UserID, claiming claimed: [Alias],
        _ change: (inout User) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // One order for all programs, so that no two wait for each other.
        let claimed = claimed.sorted { $0.documentName.file < $1.documentName.file }
        var before: [Alias] = []
        var after: [Alias] = []
        do throws(Failure) {
            let result = try claim(claimed[...], for: user) { () throws(Failure) in
                try state.users[user].update { (document) throws(Failure) in
                    before = document.profile.aliases
                    let result = try change(&document)
                    after = document.profile.aliases
                    return result
                }
            }
            try forget(before.filter { !after.contains($0) }, of: user)
            return result
        } catch {
            if error.leavesNothing { try forget(claimed, of: user) }
            throw error
        }
    }

    /// Runs `body` with the user named in the index of each alias, which nobody else can claim meanwhile.
    private func claim<Result>(
        _ aliases: ArraySlice<Alias>, for user: UserID, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        guard let alias = aliases.first else { return try body() }
        return try state.aliasDocuments[alias].holding { (known, commit) throws(Failure) in
            for other in known.users where other != user {
                guard try !has(other, alias) else {
                    throw .refused(
                        .conflict, "another user has the alias \(alias.label) with this id")
                }
            }
            // The others were left by a crash.
            var holders = known
            holders.users = [user]
            try commit(holders)
            return try claim(aliases.dropFirst(), for: user, body)
        }
    }

    /// Removes the user from the index of each alias that the user's document does not have.
    func forget(_ aliases: [Alias], of user: UserID) throws(Failure) {
        for alias in aliases {
            let index = state.aliasDocuments[alias]
            guard try index.read() != nil else { continue }
            try index.update { (holders) throws(Failure) in
                // Checked under the index's lock: another request may have claimed it in between.
                if try !has(user, alias) { holders.remove(user) }
            }
            // No file remains whose name is made from an alias that nobody has.
            _ = try index.remove { $0.users.isEmpty }
        }
    }

    private func has(_ user: UserID, _ alias: Alias) throws(Failure) -> Bool {
        try state.users[user].read()?.profile.aliases.contains(alias) ?? false
    }
}

extension State {
    package var aliases: Aliases { Aliases(state: self) }
}

extension Alias: DocumentKey {
    package var documentName: DocumentName { DocumentName(hashOf: "\(label)\0\(id)") }
}

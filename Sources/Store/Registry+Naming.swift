import Documents
import Turnstone

extension Registry {
    /// Gives a user another id, under which nobody is known yet: the document moves there in one step, with
    /// everything in it.
    ///
    /// Before that, the indices get the new id; afterwards they lose the old one. A crash in between leaves
    /// indices that name too many users, never too few.
    ///
    /// - Parameter mayMove: whether the user may have another id, by the document as it is when it moves.
    /// - Returns: whether it was done; `false` if somebody has the id already.
    /// - Throws: a conflict if `mayMove` says no.
    @export(interface)
    package func name(
        _ user: UserID, as new: UserID, where mayMove: (User) -> Bool
    ) throws(Failure) -> Bool {
        for one in [user, new] { try state.users[one].settle() }
        var indexed = try state.users[user].read() ?? User()
        // The user may get an alias or a device meanwhile.
        while true {
            try nameInIndices(of: indexed, new)
            var isIndexed = true
            do throws(Failure) {
                let isMoved = try state.users[user].move(to: state.users[new]) {
                    (document) throws(Failure) in
                    guard mayMove(document) else {
                        throw .refused(.conflict, "the user already has an external_id")
                    }
                    isIndexed = document.isFound(as: indexed)
                    guard isIndexed else {
                        indexed = document
                        throw .refused(.conflict, "another request has changed the user; try again")
                    }
                    document.formerID = user
                    // A number that a backend gives makes nobody a player.
                    if new.player != nil { document.isPlayer = false }
                }
                guard isMoved else {
                    try forgetInIndices(of: indexed, new)
                    return false
                }
                break
            } catch {
                guard isIndexed else { continue }
                if error.leavesNothing { try forgetInIndices(of: indexed, new) }
                throw error
            }
        }
        // Once more, because another program may have taken the new id for one left by a crash.
        try nameInIndices(of: indexed, new)
        try forgetInIndices(of: indexed, user)
        return true
    }

    private func nameInIndices(of document: User, _ new: UserID) throws(Failure) {
        for alias in document.profile.aliases {
            try state.aliasDocuments[alias].update { $0.add(new) }
        }
        for device in document.devices {
            for key in IndexKey.all(device.token, device.kind) {
                try key.document(in: state).update { $0.add(new) }
            }
        }
    }

    private func forgetInIndices(of document: User, _ user: UserID) throws(Failure) {
        try forget(document.devices, of: user)
        try state.aliases.forget(document.profile.aliases, of: user)
    }
}

extension User {
    /// Whether all keys that find this user find another document too.
    fileprivate func isFound(as other: User) -> Bool {
        profile.aliases.allSatisfy { other.profile.aliases.contains($0) }
            && devices.allSatisfy { device in
                other.devices.contains { $0.token == device.token && $0.kind == device.kind }
            }
    }
}

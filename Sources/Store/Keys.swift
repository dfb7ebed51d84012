import Crypto
import Documents
import Turnstone
import Unix

/// The API keys: 32 random bytes each. Only their owners have them; the store has their SHA-256.
package struct Keys {
    let state: State

    /// A key as its owner may see it.
    package struct Listed {
        /// The first 16 hex digits of the key's SHA-256.
        package let id: String
        package let key: Key
    }

    /// Creates a key for `owner`.
    /// - Returns: 64 hex digits, shown only once.
    /// - Throws: a conflict if the owner already has `KEYS_PER_USER` keys.
    @export(interface)
    package func create(
        for owner: PlayerID, description: String, at time: Timestamp
    ) throws(Failure) -> String {
        let text = hex(try randomBytes(32))
        _ = try add(
            text, for: owner, description: description, at: time, limit: state.quotas().keys)
        return text
    }

    /// Creates the key with this text, or finds it if an earlier request has created it.
    ///
    /// - Parameter text: 64 hex digits that only the owner can know.
    /// - Returns: its record; `nil` if it was revoked or is another owner's.
    /// - Throws: a conflict if the owner already has `KEYS_PER_USER` other keys.
    package func create(
        _ text: String, for owner: PlayerID, description: String, at time: Timestamp
    ) throws(Failure) -> Listed? {
        let key = try add(
            text, for: owner, description: description, at: time, limit: state.quotas().keys)
        return key.map { Listed(id: firstDigits(16, of: Self.hash(text)), key: $0) }
    }

    /// - Parameter limit: how many keys the owner may have, this one included.
    private func add(
        _ text: String, for owner: PlayerID, description: String, at time: Timestamp, limit: Int
    ) throws(Failure) -> Key? {
        let hash = Self.hash(text)
        return try state.users[owner].update { (document) throws(Failure) in
            let isListed = document.keys.contains(hash)
            if !isListed, try list(document.keys, of: owner).count >= limit {
                throw .refused(
                    .conflict,
                    "this user has as many API keys as allowed (\(limit)); revoke one first")
            }
            let key: Key? = try state.keyDocuments[DocumentName(hash: hash)].update { key in
                if key.owner.isEmpty {
                    key.fill(for: owner, description: description, at: time)
                }
                return key.owner == owner.description && key.revoked == nil ? key : nil
            }
            if key != nil, !isListed {
                document.keys.append(hash)
                document.isErasing = false
            }
            return key
        }
    }

    /// Whether a working key has this text, without recording a use.
    package func works(_ text: String) throws(Failure) -> Bool {
        let key = try state.keyDocuments[DocumentName(hash: Self.hash(text))].read()
        return key.map { $0.revoked == nil } ?? false
    }

    /// The owner of a working key.
    /// - Throws: unauthenticated if no working key has this text.
    @export(interface)
    package func owner(of text: String, at time: Timestamp) throws(Failure) -> PlayerID {
        let document = state.keyDocuments[DocumentName(hash: Self.hash(text))]
        guard let key = try document.read(), key.revoked == nil,
            let owner = PlayerID(key.owner)
        else { throw .refused(.unauthenticated, "Invalid API key") }
        try state.admit(UserID(owner))
        recordUse(of: key, in: document, on: CalendarDate(time).dayText)
        return owner
    }

    /// Records the day on which a key is used, once a day. The key works even if that cannot be written.
    private func recordUse(of key: Key, in document: StoredDocument<Key>, on day: String) {
        guard key.lastUsed != day else { return }
        do throws(Failure) {
            try document.update { $0.lastUsed = day }
        } catch {}
    }

    /// The owner's working keys, oldest first.
    @export(interface)
    package func list(of owner: PlayerID) throws(Failure) -> [Listed] {
        try list(state.users[owner].read()?.keys ?? [], of: owner)
    }

    /// How many of the keys in a user's list work. One whose document cannot be read does not.
    package func count(_ hashes: [String], of user: UserID) -> Int {
        guard let owner = user.player else { return 0 }
        var count = 0
        for hash in hashes {
            do throws(Failure) { count += try list([hash], of: owner).count } catch {
                error.recordFile()
            }
        }
        return count
    }

    private func list(_ hashes: [String], of owner: PlayerID) throws(Failure) -> [Listed] {
        var listed: [Listed] = []
        for hash in hashes {
            guard let key = try state.keyDocuments[DocumentName(hash: hash)].read(),
                key.revoked == nil, key.owner == owner.description
            else { continue }
            listed.append(Listed(id: firstDigits(16, of: hash), key: key))
        }
        return listed
    }

    /// Revokes a key.
    /// - Returns: whether the owner had a working key with this id.
    @export(interface)
    package func revoke(
        _ id: String, of owner: PlayerID, at time: Timestamp
    ) throws(Failure) -> Bool {
        let user = try state.users[owner].read()
        guard let hash = user?.keys.first(where: { firstDigits(16, of: $0) == id }) else {
            return false
        }
        return try revoke(hash: hash, of: owner, at: time)
    }

    /// Replaces a working key with a new one. The old key stops working.
    @export(interface)
    package func rotate(
        _ text: String, of owner: PlayerID, at time: Timestamp
    ) throws(Failure) -> (text: String, description: String) {
        let old = Self.hash(text)
        let description = try state.keyDocuments[DocumentName(hash: old)].read()?.description ?? ""
        let newText = hex(try randomBytes(32))
        let new = Self.hash(newText)
        // Under the user's lock: a user who is busy keeps the key that works.
        try state.users[owner].holding { (known, commit) throws(Failure) in
            var document = known
            document.isErasing = false
            document.keys.append(new)
            // Listed before it is made: whoever erases the user finds it.
            try commit(document)
            do throws(Failure) {
                try state.keyDocuments[DocumentName(hash: new)].update {
                    $0.fill(for: owner, description: description, at: time)
                }
                // Another request may have rotated or revoked it meanwhile: one key must not become two.
                guard try end(old, of: owner, at: time) else {
                    throw .refused(.unauthenticated, "Invalid API key")
                }
            } catch {
                // Nobody has the new one.
                do throws(Failure) {
                    _ = try end(new, of: owner, at: time)
                    try commit(known)
                } catch {}
                throw error
            }
            document.keys.removeAll { $0 == old }
            // The keys have changed. A list may have one that was revoked.
            do throws(Failure) { try commit(document) } catch {}
        }
        return (newText, description)
    }

    /// Revokes the key's document: it alone decides whether the key works.
    private func revoke(
        hash: String, of owner: PlayerID, at time: Timestamp
    ) throws(Failure) -> Bool {
        let ended = try end(hash, of: owner, at: time)
        // It is done: a caller who is told to repeat it may have no key that works. A list may have one that was
        // revoked.
        do throws(Failure) {
            try state.users[owner].update { $0.keys.removeAll { $0 == hash } }
        } catch {}
        return ended
    }

    private func end(
        _ hash: String, of owner: PlayerID, at time: Timestamp
    ) throws(Failure) -> Bool {
        try state.keyDocuments[DocumentName(hash: hash)].update { key in
            guard key.revoked == nil, key.owner == owner.description else { return false }
            key.revoked = time
            return true
        }
    }

    private static func hash(_ text: String) -> String { hex(SHA256.hash(Array(text.utf8))) }
}

extension Key {
    /// Makes an empty record one of a new key.
    fileprivate mutating func fill(
        for owner: PlayerID, description: String, at time: Timestamp
    ) {
        self.owner = owner.description
        self.description = description
        created = time
    }
}

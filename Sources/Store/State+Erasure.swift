import Documents
import JSON
import Turnstone
import Unix

// A user is erased everywhere else first and from the user's own document last: a crash in between leaves the
// document, and erasing again finishes. Nothing here relies on the document to know where the user is named.
//
// While an erasure runs, a user whose document is `erasing` cannot come back: registrations, API keys and profiles
// get 503. Who had no document can come at any time, and keeps what is new: each step looks for that.

extension State {
    /// A count of the erased data.
    package struct Erased: Equatable {
        package var devices = 0
        package var keys = 0
        /// Documents of indices, caches and leftovers.
        package var files = 0
        /// Files and folders that could not be read and may name the user.
        package var unreadable = 0

        package init() {}

        package var isNothing: Bool { devices + keys + files == 0 }
    }

    /// Removes everything from the user's document but the aliases and the former id, so that nothing more is
    /// accepted for its devices. The caller must hold the drainer's election.
    ///
    /// - Returns: the devices; `nil` if the document cannot be read, perhaps only now.
    @export(interface)
    package func takeDevices(of user: UserID) throws(Failure) -> [Device]? {
        users[user].clearLock()
        do throws(Failure) {
            guard try users[user].read() != nil else { return [] }
        } catch {
            // What an older copy says is not true any more: it is erased like a damaged document.
            if error.cause == FailureCause.stale, error.isFileSpecific {
                try users[user].setAsideOlderCopy()
            }
            // An unreadable document is erased with the other files.
            guard
                error.cause == FailureCause.corrupt
                    || error.isFileSpecific && error.cause != FailureCause.newer
            else {
                throw error
            }
            // A damaged one is set aside.
            let isSetAside = [FailureCause.corrupt, FailureCause.stale].contains(error.cause)
            return isSetAside ? [] : nil
        }
        return try users[user].update { (document) throws(Failure) in
            try registry.beginHandOvers(of: document.devices, from: user)
            var left = User()
            left.profile.aliases = document.profile.aliases
            left.formerID = document.formerID
            // Until their documents are erased, the keys can be listed and revoked.
            left.keys = document.keys
            left.isErasing = true
            let devices = document.devices
            document = left
            return devices
        }
    }

    /// Runs `body`, which erases a user. Nobody whose document is `erasing` comes back meanwhile.
    ///
    /// - Throws: later, if another erasure takes long.
    package func erasing<Result>(
        _ user: UserID, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let path = erasurePath(of: user)
        let file = try systemCalls { () throws(SystemError) in
            try Files.makeFolder(Files.parent(of: path))
            return try FileDescriptor.open(path, .update)
        }
        guard try systemCalls(file.lock(patience: .seconds(10))) else {
            throw Failure(
                .later(seconds: 2), "unable to lock \(path): another user is being erased",
                cause: FailureCause.busy)
        }
        defer { file.unlock() }
        return try body()
    }

    /// Refuses a change by which a user comes back, while an erasure runs. After one that was killed, the user
    /// may come back, until it is repeated.
    func checkNoErasure(of user: UserID) throws(Failure) {
        var isRunning = false
        do throws(SystemError) {
            let file = try FileDescriptor.open(erasurePath(of: user), .overwrite)
            // Others may be looking, too.
            isRunning = try !file.lock(patience: .milliseconds(100))
            file.unlock()
        } catch {}  // nobody can hold it
        guard !isRunning else {
            throw Failure(
                .later(seconds: 2), "the user is being erased; try again",
                cause: Self.erasureRuns)
        }
    }

    fileprivate static let erasureRuns = "erasing"

    /// What an erasure locks. Users share 256 files.
    private func erasurePath(of user: UserID) -> String {
        "\(folder)/locks/erasures/\(user.documentName.shard ?? "00").lock"
    }

    /// Removes the looks at other players' games that name the user. They are a cache: the next look makes a
    /// new one.
    ///
    /// - Parameter report: gets each file that could not be read. The others are erased all the same.
    /// - Returns: the players whose looks were removed, and how many files and folders could not be read.
    @export(interface)
    package func eraseLooks(
        naming user: UserID, report: @escaping (Failure) -> Void
    ) throws(Failure) -> (players: [UserID], unreadable: Int) {
        guard user.player != nil else { return ([], 0) }
        let word = Array(user.text.utf8)
        var unreadable = Skipped(report)
        var players: [UserID] = []
        for shard in try unreadable.names(in: looks.folder) {
            let shard = "\(looks.folder)/\(shard)"
            for name in try unreadable.names(in: shard) {
                let number = name.utf8.prefix { $0 != UInt8(ascii: ".") }
                guard let player = PlayerID(String(decoding: Array(number), as: UTF8.self)),
                    UserID(player) != user, players.last != UserID(player)
                else { continue }
                var isNamed = false
                try unreadable.attempt { () throws(SystemError) in
                    try Files.contains(word, in: "\(shard)/\(name)", as: .word)
                } then: {
                    isNamed = $0
                }
                guard isNamed else { continue }
                players.append(UserID(player))
                try unreadable.attempt { () throws(Failure) in
                    _ = try looks[player].erase()
                }
            }
        }
        return (players, unreadable.count)
    }

    /// Removes the user's name from indices, keys, caches and logs.
    ///
    /// - Parameters:
    ///   - devices: the user's devices. Pushes to them that were written into `outgoing/` are removed too.
    ///   - report: gets each file that could not be read. The others are erased all the same.
    @export(interface)
    package func eraseTraces(
        of user: UserID, _ devices: [Device]?, at time: Timestamp,
        report: @escaping (Failure) -> Void
    ) throws(Failure) -> Erased {
        var erased = Erased()
        var unreadable = Skipped(report)
        try eraseUser(user, from: tokens, &erased, &unreadable) {
            (name, holders) throws(Failure) in
            // A transfer that has taken the device from the user ends that registration itself, and the user who is
            // to get it may have no document yet.
            guard try !registry.isMoving(token: name) else { return }
            try removeUnknown(from: &holders)
            let device = devices?.first { $0.token.documentName.file == name }
            if let device { holders.endRegistration(of: device) }
            // An erasure that was killed has taken it from the document, which may have been an older copy besides.
            holders.endRegistrations(before: time)
        }
        try eraseUser(user, from: activities, &erased, &unreadable) {
            (_, holders) throws(Failure) in try removeUnknown(from: &holders)
        }
        try eraseUser(user, from: sessions, &erased, &unreadable) {
            (_, holders) throws(Failure) in try removeUnknown(from: &holders)
        }
        erased.files += try eraseTransfers(to: user, &unreadable)
        var keys = 0
        try eraseFiles(keyDocuments.folder, naming: user, &erased, &unreadable) {
            (name) throws(Failure) in
            guard try keyDocuments[DocumentName(hash: name)].read()?.owner == user.text else {
                return
            }
            try holding(user) { (document) throws(Failure) in
                guard document?.keys.contains(name) != true else { return }
                _ = try keyDocuments[DocumentName(hash: name)].erase()
                keys += 1
            }
        }
        erased.keys = keys
        try unreadable.attempt { () throws(Failure) in
            erased.files += try looks[named: user.documentName].erase()
        }
        try unreadable.attempt { () throws(Failure) in erased.files += try eraseMark(of: user) }
        try unreadable.attempt { () throws(Failure) in
            try holding(user) { (document) throws(Failure) in
                erased.files += try audience.erase(user, keeping: document) ? 1 : 0
            }
        }
        try unreadable.attempt { () throws(Failure) in erased.files += try eraseRefusals(of: user) }
        erased.files += try messages.erase(user, &unreadable)
        erased.files += try eraseOutgoing(of: user, devices, &unreadable)
        erased.files += try eraseLogs(of: user, &unreadable)
        erased.unreadable = unreadable.count
        return erased
    }

    /// Removes the user from the index of aliases, after the user's document: the alias of a user who is
    /// being erased stays found, and nobody else's, until the document is gone.
    @export(interface)
    package func eraseAliases(
        of user: UserID, report: @escaping (Failure) -> Void
    ) throws(Failure) -> Erased {
        var erased = Erased()
        var unreadable = Skipped(report)
        // The name of an alias' document is made from the alias.
        try eraseFiles(aliasDocuments.folder, naming: user, &erased, &unreadable) {
            (name) throws(Failure) in
            let index = aliasDocuments[named: DocumentName(hash: name)]
            try index.update { (holders) throws(Failure) in
                // Somebody who has the same id since may have claimed it.
                let aliases = try users[user].read()?.profile.aliases ?? []
                guard !aliases.contains(where: { $0.documentName.file == name }) else { return }
                holders.remove(user)
                try removeUnknown(from: &holders)
            }
            _ = try index.remove { $0.users.isEmpty }
        }
        erased.unreadable = unreadable.count
        return erased
    }

    /// Removes transfers of devices to the user that killed programs have left.
    private func eraseTransfers(
        to user: UserID, _ unreadable: inout Skipped
    ) throws(Failure) -> Int {
        var count = 0
        for name in try unreadable.names(in: transfers.folder) {
            let path = "\(transfers.folder)/\(name)"
            try unreadable.attempt { () throws(SystemError) in
                guard try Files.contains(quoted(user), in: path) else { return false }
                return try Files.erase(path)
            } then: { (isErased) in
                if isErased { count += 1 }
            }
        }
        return count
    }

    private func eraseUser<Key>(
        _ user: UserID, from indices: Shelf<Key, Holders>, _ erased: inout Erased,
        _ unreadable: inout Skipped,
        then: (_ name: String, inout Holders) throws(Failure) -> Void
    ) throws(Failure) {
        try eraseFiles(indices.folder, naming: user, &erased, &unreadable) {
            (name) throws(Failure) in
            let index = indices[named: DocumentName(hash: name)]
            try index.update { (holders) throws(Failure) in
                // Checked under the index's lock, as a registration writes the index first.
                guard try !isFound(user, in: index) else { return }
                holders.remove(user)
                try then(name, &holders)
            }
        }
    }

    /// Removes those who are left if none of them has a document: a killed program may have named the id that it was
    /// about to give to the erased user. Where somebody else is named, that user may be getting the id now.
    private func removeUnknown(from holders: inout Holders) throws(Failure) {
        // A new id stands after the former one, which has the document until the new one has it.
        for user in holders.users {
            do throws(Failure) { guard try users[user].read() == nil else { return } } catch {
                guard error.isDocumentSpecific else { throw error }
                return
            }
        }
        holders.remove(Set(holders.users))
    }

    /// Whether an index finds one of the devices that a user has now.
    private func isFound(
        _ user: UserID, in index: StoredDocument<Holders>
    ) throws(Failure) -> Bool {
        do throws(Failure) { return try registry.has(user, in: index) } catch {
            guard error.isDocumentSpecific else { throw error }
            return false
        }
    }

    /// Runs `body` while nobody else changes the user's document, with the document if the user has come back.
    /// A document that cannot be used is erased like one of a user who has not.
    private func holding(
        _ user: UserID, _ body: (User?) throws(Failure) -> Void
    ) throws(Failure) {
        var hasBegun = false
        do throws(Failure) {
            try users[user].holding { (document, _) throws(Failure) in
                hasBegun = true
                try body(isBack(document) ? document : nil)
            }
        } catch {
            guard !hasBegun, error.isDocumentSpecific else { throw error }
            try body(nil)
        }
    }

    private func isBack(_ document: User) -> Bool { !document.isErasing && document != User() }

    private func isBack(_ user: UserID) throws(Failure) -> Bool {
        do throws(Failure) { return try users[user].read().map(isBack) ?? false } catch {
            guard error.isDocumentSpecific else { throw error }
            return false
        }
    }

    /// The name as a string of JSON: a bare number may mean anything.
    private func quoted(_ user: UserID) -> [UInt8] { JSON.text(.string(user.text)) }

    /// The end of a string of JSON.
    private func quotedEnd(_ text: String) -> [UInt8] {
        Array(JSON.text(.string(text)).dropFirst())
    }

    private func eraseOutgoing(
        of user: UserID, _ devices: [Device]?, _ unreadable: inout Skipped
    ) throws(Failure) -> Int {
        // A user's name is also the end of a collapse id.
        let words =
            [
                quoted(user), quotedEnd("turn-\(user.text)"), quotedEnd("turn-badge-\(user.text)"),
            ] + (devices ?? []).map { Array($0.token.text.utf8) }
        var count = 0
        for name in try unreadable.names(in: "\(folder)/outgoing") {
            let path = "\(folder)/outgoing/\(name)"
            try unreadable.attempt { () throws(SystemError) in
                var isNamed = false
                for word in words where !isNamed { isNamed = try Files.contains(word, in: path) }
                return isNamed ? try Files.erase(path) : false
            } then: { (isErased) in
                if isErased { count += 1 }
            }
        }
        return count
    }

    private func eraseLogs(
        of user: UserID, _ unreadable: inout Skipped
    ) throws(Failure) -> Int {
        // The lines stay JSON.
        let file = (Array("/\(user.documentName.file).json".utf8), Files.Occurrence.any)
        // A log is read in terminals, so it has escapes for what they would obey.
        let id = Array(quoted(user).dropFirst().dropLast())
        let escaped = Array(withoutControls(String(decoding: id, as: UTF8.self)).utf8)
        let names = (id == escaped ? [id] : [id, escaped]).map { ($0, Files.Occurrence.string) }
        let logs = ["deliver.log", "deliver.log.1"].map { ($0, names + [file]) }
        var count = 0
        for (name, words) in logs + UnusableFiles.names.map({ ($0, [file]) }) {
            for (word, occurrence) in words {
                try unreadable.attempt { () throws(SystemError) in
                    try Files.overwrite(
                        word, with: UInt8(ascii: "-"), in: "\(folder)/\(name)", as: occurrence)
                } then: {
                    count += $0
                }
            }
        }
        return count
    }

    /// Removes the user's document, its lock and the files beside it: the end of an erasure. The document of a
    /// user who has come back stays.
    ///
    /// - Returns: how many files there were.
    package func eraseDocument(of user: UserID) throws(Failure) -> Int {
        let files = try users[user].erase(unless: isBack)
        guard let player = user.player, try !isBack(user) else { return files }
        // A look that was under way may have been stored while the document was there.
        return files + (try looks[player].erase())
    }

    /// Runs `body` for each document below a folder that names the user. In damaged copies the name is
    /// overwritten, and the rest of a killed program's commit is removed.
    private func eraseFiles(
        _ folder: String, naming user: UserID, _ erased: inout Erased,
        _ unreadable: inout Skipped, _ body: (String) throws(Failure) -> Void
    ) throws(Failure) {
        let id = Array(quoted(user).dropFirst().dropLast())
        for shard in try unreadable.names(in: folder) {
            let shard = "\(folder)/\(shard)"
            // A document that turns out to be damaged becomes a damaged copy.
            let names = try unreadable.names(in: shard).sorted { ending(of: $0) < ending(of: $1) }
            var isDamaged = false
            for name in names {
                let path = "\(shard)/\(name)"
                var isNamed = false
                try unreadable.attempt { () throws(SystemError) in
                    try Files.contains(id, in: path, as: .quoted)
                } then: {
                    isNamed = $0
                }
                guard isNamed else { continue }
                erased.files += 1
                switch ending(of: name) {
                case .document:
                    do throws(Failure) {
                        try body(String(decoding: name.utf8.dropLast(5), as: UTF8.self))
                    } catch {
                        if error.cause == FailureCause.corrupt {
                            isDamaged = true
                        } else {
                            guard error.isFileSpecific else { throw error }
                            unreadable.record(error)
                        }
                    }
                case .uncommitted:
                    let document = String(decoding: path.utf8.dropLast(4), as: UTF8.self)
                    try unreadable.attempt { () throws(Failure) in
                        try Lock.holding(lock(ofDocumentAt: document)) { (_) throws(Failure) in
                            _ = try systemCalls(Files.erase(path))
                        }
                    }
                case .other: isDamaged = true
                }
            }
            guard isDamaged else { continue }
            for name in try unreadable.names(in: shard) where ending(of: name) == .other {
                try unreadable.attempt { () throws(SystemError) in
                    try Files.overwrite(
                        id, with: UInt8(ascii: "-"),
                        in: "\(shard)/\(name)",
                        as: .string)
                } then: { (_) in
                }
            }
        }
    }

    private enum Ending: Int, Comparable {
        case document
        case uncommitted
        case other

        static func < (left: Ending, right: Ending) -> Bool { left.rawValue < right.rawValue }
    }

    private func ending(of name: String) -> Ending {
        if name.utf8.count > 5, name.utf8.suffix(5).elementsEqual(".json".utf8) { return .document }
        if name.utf8.suffix(9).elementsEqual(".json.new".utf8) { return .uncommitted }
        return .other
    }

    /// Removes the player's mark, and the player from the index.
    private func eraseMark(of user: UserID) throws(Failure) -> Int {
        guard let player = user.player else { return 0 }
        var (isThere, isBack) = (false, false)
        func remove() throws(Failure) {
            try holding(user) { (document) throws(Failure) in
                isBack = document != nil
                if !isBack, try watch.remove(player) { isThere = true }
            }
        }
        try remove()
        guard !isBack else { return 0 }
        try PlayerIndex.erase(player, in: self)
        // An index of version 1 has brought the mark back.
        try remove()
        return isThere ? 1 : 0
    }
}

extension Failure {
    /// Whether a change of a user that failed must leave no name in an index. After other failures it is repeated,
    /// and finds its own.
    var leavesNothing: Bool {
        // The erasure may have passed the index already.
        if cause == State.erasureRuns { return true }
        if case .refused = disposition { return true }
        return false
    }
}

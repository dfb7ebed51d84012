import Crypto
import JSON
import Turnstone
import Unix

// A user is erased from everywhere but the user's own document, and from there last: a crash in between leaves a
// document, and erasing again finishes. Nothing here trusts the document to know where the user is named.

extension State {
    /// What was erased.
    package struct Erased: Equatable {
        package var devices = 0
        package var keys = 0
        /// Documents of indices, caches and leftovers.
        package var files = 0

        package init() {}

        package var isNothing: Bool { self == Erased() }
    }

    /// Ends the user's use of all devices, so that nothing more is accepted for them.
    ///
    /// - Returns: the devices.
    package func takeDevices(of user: UserID) throws(Failure) -> [Device] {
        do throws(Failure) {
            guard try users.read(DocumentName(user)) != nil else { return [] }
            return try users.update(DocumentName(user)) { document in
                let devices = document.devices
                document.devices = []
                return devices
            }
        } catch {
            // A damaged document goes with the others.
            guard error.cause == "corrupt" || error.cause == "missing" else { throw error }
            return []
        }
    }

    /// Removes the looks at other players' games that name the user. They are a cache: the next look at such a player
    /// makes another.
    ///
    /// - Returns: the players whose looks they were.
    package func eraseLooks(naming user: UserID) throws(Failure) -> [UserID] {
        guard user.player != nil else { return [] }
        let word = Array(user.text.utf8)
        var players: [UserID] = []
        let shards = try systemCalls { () throws(SystemError) in try Files.names(in: looks.folder) }
        for shard in shards {
            let shard = "\(looks.folder)/\(shard)"
            let names = try systemCalls { () throws(SystemError) in try Files.names(in: shard) }
            for name in names {
                let number = name.utf8.prefix { $0 != UInt8(ascii: ".") }
                guard let player = PlayerID(String(decoding: Array(number), as: UTF8.self)),
                    UserID(player) != user, players.last != UserID(player)
                else { continue }
                let isNamed = try systemCalls { () throws(SystemError) in
                    try Files.contains(word, in: "\(shard)/\(name)", isWord: true)
                }
                guard isNamed else { continue }
                players.append(UserID(player))
                _ = try looks.erase(DocumentName(UserID(player)))
            }
        }
        return players
    }

    /// Takes the user's name out of indices, keys, caches and logs.
    ///
    /// - Parameter devices: the user's: what was pushed to them and written into a folder goes, too.
    package func eraseTraces(of user: UserID, _ devices: [Device]) throws(Failure) -> Erased {
        var erased = Erased()
        for shelf in [tokens, activities, sessions] {
            try eraseFiles(shelf.folder, naming: user, &erased) { (name) throws(Failure) in
                try shelf.update(DocumentName(hash: name)) { holders in
                    holders.users.removeAll { $0 == user.text }
                }
            }
        }
        var keys = 0
        try eraseFiles(keyDocuments.folder, naming: user, &erased) { (name) throws(Failure) in
            guard try keyDocuments.read(DocumentName(hash: name))?.owner == user.text else {
                return
            }
            _ = try keyDocuments.erase(DocumentName(hash: name))
            keys += 1
        }
        erased.keys = keys
        erased.files += try looks.erase(DocumentName(user))
        erased.files += try eraseRecords(of: user)
        // As a text of JSON or of the log, or as the end of a collapse id: a bare number may be anything.
        let quoted = Array("\"\(user.text)\"".utf8)
        let words =
            [quoted, Array("turn-\(user.text)\"".utf8), Array("turn-badge-\(user.text)\"".utf8)]
            + devices.map { Array($0.token.text.utf8) }
        erased.files += try systemCalls { () throws(SystemError) in
            var count = 0
            let folder = "\(self.folder)/outgoing"
            for name in try Files.names(in: folder) {
                for word in words
                where try Files.contains(word, in: "\(folder)/\(name)") {
                    if Files.remove("\(folder)/\(name)") { count += 1 }
                }
            }
            for log in ["deliver.log", "deliver.log.1"] {
                for word in [quoted, Array("/\(user.fileName).json".utf8)] {
                    count += try Files.overwrite(
                        word, with: UInt8(ascii: "-"), in: "\(self.folder)/\(log)")
                }
            }
            // Its lines stay JSON: only the name of the user's file goes.
            let file = Array("/\(user.fileName).json".utf8)
            count += try Files.overwrite(
                file, with: UInt8(ascii: "-"), in: "\(self.folder)/set-aside.jsonl")
            return count
        }
        return erased
    }

    /// Removes the user's document, its lock and whatever lies beside them: the end of an erasure.
    ///
    /// - Returns: how many files there were.
    package func eraseDocument(of user: UserID) throws(Failure) -> Int {
        try users.erase(DocumentName(user))
    }

    /// Does something with each document below a folder that names the user. Damaged copies lose the name, and what
    /// a killed program has left of a commit goes.
    private func eraseFiles(
        _ folder: String, naming user: UserID, _ erased: inout Erased,
        _ body: (String) throws(Failure) -> Void
    ) throws(Failure) {
        let quoted = JSON.text(.string(user.text))
        let shards = try systemCalls { () throws(SystemError) in try Files.names(in: folder) }
        for shard in shards {
            let shard = "\(folder)/\(shard)"
            var names = try systemCalls { () throws(SystemError) in try Files.names(in: shard) }
            // A document that turns out to be damaged becomes a damaged copy.
            names.sort { ending(of: $0) < ending(of: $1) }
            var isDamaged = false
            for name in names {
                let path = "\(shard)/\(name)"
                let isNamed = try systemCalls { () throws(SystemError) in
                    try Files.contains(quoted, in: path)
                }
                guard isNamed else { continue }
                erased.files += 1
                switch ending(of: name) {
                case .document:
                    do throws(Failure) {
                        try body(String(decoding: name.utf8.dropLast(5), as: UTF8.self))
                    } catch {
                        guard error.cause == "corrupt" else { throw error }
                        isDamaged = true
                    }
                case .uncommitted:
                    let document = String(decoding: path.utf8.dropLast(4), as: UTF8.self)
                    try Lock.holding(document) { (_) throws(Failure) in _ = Files.remove(path) }
                case .other: isDamaged = true
                }
            }
            guard isDamaged else { continue }
            try systemCalls { () throws(SystemError) in
                for name in try Files.names(in: shard) where ending(of: name) == .other {
                    _ = try Files.overwrite(
                        Array(user.text.utf8), with: UInt8(ascii: "-"), in: "\(shard)/\(name)",
                        isWord: true)
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

    /// Fills the player's records with zeros: no player has the number 0.
    private func eraseRecords(of user: UserID) throws(Failure) -> Int {
        let path = "\(folder)/players.index"
        let isThere = try systemCalls { () throws(SystemError) in try Files.exists(path) }
        guard let player = user.player, isThere else { return 0 }
        return try Lock.holding(path) { (_) throws(Failure) in
            try systemCalls { () throws(SystemError) in
                let file = try FileDescriptor.open(path, .update)
                let size = PlayerIndex.recordSize
                var count = 0
                var place = size
                while true {
                    let bytes = try file.read(upTo: size * 4096, at: place)
                    let records = bytes.count / size
                    for record in 0..<records {
                        let word = bytes[record * size..<record * size + 8]
                        guard word.reversed().reduce(0, { $0 << 8 | Int64($1) }) == player.number
                        else { continue }
                        try file.write(
                            [UInt8](repeating: 0, count: size), at: place + record * size)
                        count += 1
                    }
                    if records == 0 { break }
                    place += records * size
                }
                if count > 0 { try file.synchronize() }
                return count
            }
        }
    }
}

extension Shelf {
    /// Removes a document, its lock and what lies beside them. Erasing again finishes what a crash has left.
    ///
    /// - Returns: how many files there were.
    func erase(_ name: DocumentName) throws(Failure) -> Int {
        let path = path(name)
        let folder = Files.parent(of: path)
        let document = Files.name(of: path)
        func files() throws(Failure) -> [String] {
            try systemCalls { () throws(SystemError) in try Files.names(in: folder) }.filter {
                $0 == document || $0.utf8.starts(with: "\(document).".utf8)
            }
        }
        guard try !files().isEmpty else { return 0 }
        return try Lock.holding(path) { (lock) throws(Failure) in
            // The number first: with it a missing document would count as lost.
            lock.remember(0)
            let files = try files()
            for file in files where file != "\(document).lock" { Files.remove("\(folder)/\(file)") }
            // Whoever waits for the lock finds that it has no name any more, and makes a new one.
            Files.remove("\(path).lock")
            try systemCalls { () throws(SystemError) in try Files.synchronizeFolder(folder) }
            return files.count { $0 != "\(document).lock" }
        }
    }
}

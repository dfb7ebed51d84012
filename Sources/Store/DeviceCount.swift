import Documents
import Turnstone
import Unix

/// How many devices of each kind the users have: counted, or estimated from some of the users.
package struct DeviceCount {
    package struct Kind: Equatable {
        package let platform: Platform
        /// ``TokenKind/name``.
        package let type: String
        package fileprivate(set) var count = 0
        /// Of these, those that get nothing because their push service rejected the token.
        package fileprivate(set) var quarantined = 0
        /// Of these, those that were disabled by the app or the backend.
        package fileprivate(set) var disabled = 0
    }

    /// Sorted by platform and type.
    package private(set) var kinds: [Kind] = []
    /// How many users there are.
    package fileprivate(set) var users = 0
    /// Of how many of them the documents were read.
    package fileprivate(set) var sample = 0
    package var isEstimate: Bool { sample < users }

    fileprivate mutating func add(_ user: User) {
        sample += 1
        for device in user.devices {
            let place = place(of: device)
            kinds[place].count += 1
            if device.quarantined != nil { kinds[place].quarantined += 1 }
            if !device.isEnabled { kinds[place].disabled += 1 }
        }
    }

    private mutating func place(of device: Device) -> Int {
        let type = device.kind.name
        let known = kinds.firstIndex { $0.platform == device.platform && $0.type == type }
        if let known { return known }
        kinds.append(Kind(platform: device.platform, type: type))
        return kinds.count - 1
    }

    /// Scales the sample up to all users.
    fileprivate mutating func scale() {
        func scaled(_ count: Int) -> Int { (count * users + sample / 2) / max(1, sample) }
        for place in kinds.indices {
            kinds[place].count = scaled(kinds[place].count)
            kinds[place].quarantined = scaled(kinds[place].quarantined)
            kinds[place].disabled = scaled(kinds[place].disabled)
        }
        kinds.sort { ($0.platform.rawValue, $0.type) < ($1.platform.rawValue, $1.type) }
    }
}

extension State {
    /// Counts users by the names of their documents, and devices in as many documents as there is time for.
    /// The folders of `users/` are numbered by a digest, so the first ones are a fair sample.
    ///
    /// - Parameters:
    ///   - listingEnd: when to stop listing folders. The rest is estimated too.
    ///   - readingEnd: when to stop reading documents.
    package func countDevices(
        listingUntil listingEnd: Instant, readingUntil readingEnd: Instant
    ) throws(Failure) -> DeviceCount {
        var found = DeviceCount()
        let shards = try systemCalls(Files.names(in: users.folder))
            .filter { $0.utf8.count == 2 }.sorted()
        var listed = 0
        for shard in shards where Instant.now < listingEnd || listed == 0 {
            listed += 1
            for name in try names(ofUsersIn: shard) {
                found.users += 1
                guard Instant.now < readingEnd || found.sample == 0 else { continue }
                let document = users[named: DocumentName(file: name, shard: shard)]
                do throws(Failure) {
                    if let user = try document.read() { found.add(user) }
                } catch {
                    // `health` reports it.
                    guard error.isDocumentSpecific else { throw error }
                }
            }
        }
        if listed > 0 { found.users = found.users * shards.count / listed }
        found.scale()
        return found
    }

    private func names(ofUsersIn shard: String) throws(Failure) -> [String] {
        do throws(SystemError) {
            return try Files.names(in: "\(users.folder)/\(shard)").compactMap { name in
                name.utf8.suffix(5).elementsEqual(".json".utf8)
                    ? String(decoding: name.utf8.dropLast(5), as: UTF8.self) : nil
            }
        } catch {
            guard error.errno.isFileSpecific else { throw error.failure }
            return []
        }
    }
}

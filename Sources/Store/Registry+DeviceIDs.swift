import Crypto
import Documents
import Turnstone
import Unix

extension Registry {
    /// A device, with the first user who has it.
    package typealias Found = (id: String, user: UserID, device: Device)

    /// The devices with these ids, each with the first user who has it. Unknown ids are left out.
    ///
    /// An id is the beginning of the name of the token's document, so it needs no index. Ids that were made
    /// from an earlier token are looked for in the audience index, which lists devices that take messages.
    ///
    /// A device that is on its way from one user to another is waited for, for up to 2.5 s.
    @export(interface)
    package func devices(withIDs ids: [String]) throws(Failure) -> [Found] {
        var found = try lookUp(ids)
        for round in 0..<8 {
            let missing = ids.filter { id in isDeviceID(id) && !found.contains { $0.id == id } }
            guard !missing.isEmpty else { break }
            if try !isMoving(missing) {
                // A transfer may have ended in between.
                guard round == 0, try hasJustMovedDevices() else { break }
            }
            sleep(for: .milliseconds(10 << round))
            found += try lookUp(missing)
        }
        return found
    }

    private func lookUp(_ ids: [String]) throws(Failure) -> [Found] {
        var sought: [String: Bool] = [:]  // whether it was found
        for id in ids where isDeviceID(id) { sought[id] = false }
        var found: [Found] = []
        func take(_ ids: [String], _ user: UserID) throws(Failure) {
            let devices = try state.users[user].read()?.devices ?? []
            for id in ids where sought[id] == false {
                let device = devices.first { $0.kind == .device && $0.ids.contains(id) }
                guard let device else { continue }
                sought[id] = true
                found.append((id, user, device))
            }
        }
        for shard in Set(sought.keys.map { firstDigits(2, of: $0) }).sorted() {
            let names = try systemCalls(Files.names(in: "\(state.tokens.folder)/\(shard)"))
            for name in names where name.utf8.suffix(5).elementsEqual(".json".utf8) {
                let id = firstDigits(24, of: name)
                guard sought[id] == false else { continue }
                let hash = String(decoding: Array(name.utf8.dropLast(5)), as: UTF8.self)
                let holders = try state.tokens[named: DocumentName(hash: hash)].read()
                for user in holders?.users ?? [] where sought[id] == false {
                    try take([id], user)
                }
            }
        }
        guard sought.values.contains(false) else { return found }
        try state.audience.prepare { _ in }
        var reader = try state.audience.reader()
        for user in reader.unread {
            do throws(Failure) {
                try take(Array(sought.keys), user)
            } catch {
                guard error.isDocumentSpecific else { throw error }
            }
        }
        while sought.values.contains(false), let shard = try reader.next() {
            for entry in shard.entries() {
                for line in entry.lines {
                    var ids: [String] = []
                    shard.forEachDeviceID(of: line) { if sought[$0] == false { ids.append($0) } }
                    guard !ids.isEmpty, let user = shard.name(of: line) else { continue }
                    try take(ids, user)
                }
            }
        }
        return found
    }
}

/// Whether a text looks like ``Device/id``.
private func isDeviceID(_ text: String) -> Bool {
    text.utf8.count == 24
        && text.utf8.allSatisfy { hexValue($0) != nil && !(65...70).contains($0) }
}

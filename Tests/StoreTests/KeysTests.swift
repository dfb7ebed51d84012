import Documents
import Store
import TestSupport
import Testing
import Turnstone
import Unix

@Suite struct KeysTests {
    let scratch: Scratch
    let player = Scratch.player
    let time = Scratch.time

    init() throws { scratch = try Scratch() }

    private var keys: Keys { scratch.state.keys }

    private func isUnknown(_ key: String) -> Bool {
        cause { _ = try keys.owner(of: key, at: time) } == "refused"
    }

    @Test("a key is 64 hex digits that nobody had before, and is not kept anywhere")
    func made() throws {
        let one = try keys.create(for: player, description: "a", at: time)
        let two = try keys.create(for: player, description: "b", at: time)
        #expect(one != two)
        #expect(one.count == 64 && one.allSatisfy(\.isHexDigit) && one == one.lowercased())
        for (name, bytes) in scratch.folder.files() {
            #expect(!name.contains(one) && !String(decoding: bytes, as: UTF8.self).contains(one))
        }
        #expect(try keys.owner(of: one, at: time) == player)
        #expect(try keys.list(of: player).map(\.key.description) == ["a", "b"])
    }

    @Test(
        "a text that is not a key has no owner",
        arguments: ["", "x", "../../x", String(repeating: "0", count: 64)])
    func unknown(key: String) {
        #expect(isUnknown(key))
        #expect(scratch.files == ["version.json"])
    }

    @Test("the day of use is noted once, and a key works where that cannot be written")
    func lastUsed() throws {
        let key = try keys.create(for: player, description: "", at: time)
        _ = try keys.owner(of: key, at: time)
        let file = try #require(scratch.files.first { $0.hasPrefix("keys/") })
        #expect(try scratch.members(file)?["last_used"] == "2026-11-21")
        let before = scratch.folder.files()
        _ = try keys.owner(of: key, at: time + .hours(11))
        #expect(scratch.folder.files() == before)

        let lock = try FileDescriptor.open(scratch.lockPath(of: file), .update)
        #expect(try lock.tryLock())
        #expect(try keys.owner(of: key, at: time + .days(1)) == player)
        var after = scratch.folder.files()
        // For `health`.
        #expect(after.removeValue(forKey: "set-aside.jsonl") != nil)
        #expect(after == before)
    }

    @Test("a user may have twenty keys, and rotate one of them")
    func quota() throws {
        var last = ""
        for _ in 0..<20 { last = try keys.create(for: player, description: "", at: time) }
        #expect(
            cause { _ = try keys.create(for: player, description: "", at: time) } == "refused")
        #expect(try keys.list(of: player).count == 20)
        last = try keys.rotate(last, of: player, at: time).text
        #expect(try keys.owner(of: last, at: time) == player)
        let first = try #require(try keys.list(of: player).first)
        #expect(try keys.revoke(first.id, of: player, at: time))
        _ = try keys.create(for: player, description: "", at: time)
    }

    @Test("a user may have twenty keys, however many are made at once")
    func quotaAtOnce() throws {
        atOnce(50) { _ in _ = try? keys.create(for: player, description: "", at: time) }
        #expect(try keys.list(of: player).count == 20)
        #expect(scratch.files.count { $0.hasPrefix("keys/") } == 20)
    }

    @Test("a revoked key works no more, and the others go on")
    func revoked() throws {
        let one = try keys.create(for: player, description: "one", at: time)
        let two = try keys.create(for: player, description: "two", at: time)
        let id = try keys.list(of: player)[0].id
        #expect(try !keys.revoke(id, of: Scratch.other, at: time))
        #expect(try !keys.revoke("", of: player, at: time))
        #expect(try keys.revoke(id, of: player, at: time))
        #expect(try !keys.revoke(id, of: player, at: time))
        #expect(isUnknown(one))
        #expect(try keys.owner(of: two, at: time) == player)
        #expect(try keys.list(of: player).map(\.key.description) == ["two"])
    }

    @Test("a rotation that meets a busy key leaves that one, and no other")
    func busy() throws {
        let key = try keys.create(for: player, description: "phone", at: time)
        let file = try #require(scratch.files.first { $0.hasPrefix("keys/") })
        let lock = try FileDescriptor.open(scratch.lockPath(of: file), .update)
        #expect(try lock.tryLock())
        #expect(cause { _ = try keys.rotate(key, of: player, at: time) } == "busy")
        lock.unlock()
        #expect(try keys.owner(of: key, at: time) == player)
        #expect(try keys.list(of: player).count == 1)
        let working = try scratch.files.filter { $0.hasPrefix("keys/") }
            .filter { try scratch.members($0)?["revoked_at"] == nil }
        #expect(working == [file])
    }

    @Test("a revocation that meets a busy list is done, and the list's revoked key counts nowhere")
    func busyList() throws {
        let one = try keys.create(for: player, description: "one", at: time)
        let two = try keys.create(for: player, description: "two", at: time)
        let id = try keys.list(of: player)[0].id
        let lock = try FileDescriptor.open(scratch.lockPath(of: Scratch.userFile), .update)
        #expect(try lock.tryLock())
        #expect(try keys.revoke(id, of: player, at: time))
        #expect(isUnknown(one))
        // As a request that is repeated with another key.
        #expect(try !keys.revoke(id, of: player, at: time))
        lock.unlock()

        let list = { try #require(try scratch.state.users[player].read()).keys }
        #expect(try list().count == 2)
        #expect(try keys.count(list(), of: scratch.user) == 1)
        #expect(try keys.list(of: player).map(\.key.description) == ["two"])
        for _ in 0..<19 { _ = try keys.create(for: player, description: "", at: time) }
        #expect(
            cause { _ = try keys.create(for: player, description: "", at: time) } == "refused")
        #expect(try list().count == 21)
        #expect(try keys.count(list(), of: scratch.user) == 20)
        #expect(try keys.owner(of: two, at: time) == player)
        // The next one mends the list.
        #expect(try !keys.revoke(id, of: player, at: time))
        #expect(try list().count == 20)
    }

    @Test("a key whose document cannot be read is not counted")
    func damaged() throws {
        _ = try keys.create(for: player, description: "one", at: time)
        let file = try #require(scratch.files.first { $0.hasPrefix("keys/") })
        _ = try keys.create(for: player, description: "two", at: time)
        try scratch.folder.write("{", to: file)
        let list = try #require(try scratch.state.users[player].read()).keys
        #expect(keys.count(list, of: scratch.user) == 1)
        #expect(keys.count(list, of: UserID("ann")!) == 0)
    }

    @Test("of several rotations of one key at once, one wins and one key is left")
    func rotations() async throws {
        let key = try keys.create(for: player, description: "phone", at: time)
        let path = scratch.folder.path
        let (player, time) = (player, time)
        let made = try await atOnce(6) { _ in
            try? Scratch.open(path).keys.rotate(key, of: player, at: time).text
        }.compactMap(\.self)
        #expect(made.count == 1)
        #expect(isUnknown(key))
        #expect(try keys.owner(of: made[0], at: time) == player)
        #expect(try keys.list(of: player).map(\.key.description) == ["phone"])
    }
}

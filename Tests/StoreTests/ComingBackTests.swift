import Documents
import Store
import TestSupport
import Testing
import Turnstone

/// Users who register while they are being erased.
@Suite struct ComingBackTests {
    private let scratch: Scratch
    private let time = Scratch.time

    init() throws { scratch = try Scratch() }

    @Test(
        "a user who comes back during an erasure keeps what is new, and nothing else",
        arguments: 0...1)
    func comeBack(afterSteps steps: Int) throws {
        let state = scratch.state
        let player = try #require(PlayerID("1783478"))
        let user = UserID(player)
        let (token, other) = (DeviceToken("aaaa")!, DeviceToken("bbbb")!)
        for old in [token, other] {
            try state.registry.bind(old, environment: nil, to: player, at: time)
        }
        try state.audience.prepare { _ in }
        try state.users[user].update { $0.profile.tags["role"] = "old" }
        let keys = state.keys
        let old = try keys.create(for: player, description: "", at: time)
        var new = ""
        func comeBack() throws {
            try state.registry.bind(token, environment: nil, to: player, at: time)
            new = try keys.create(for: player, description: "", at: time)
        }
        var devices = try state.takeDevices(of: user) ?? []
        // Whoever has no document when the erasure begins may come at any time.
        _ = try state.eraseDocument(of: user)
        devices += try state.takeDevices(of: user) ?? []
        if steps == 0 { try comeBack() }
        _ = try state.eraseTraces(of: user, devices, at: Scratch.time) { Issue.record($0) }
        if steps == 1 { try comeBack() }
        _ = try state.eraseDocument(of: user)
        _ = try state.eraseAliases(of: user) { Issue.record($0) }
        #expect(try state.registry.users(of: token) == [user])
        #expect(try state.tokens[token].read()?.users == [user])
        #expect(try state.users[user].read()?.devices.map(\.token) == [token])
        #expect(try state.tokens[other].read()?.users == [])
        #expect(try keys.owner(of: new, at: time) == player)
        #expect(throws: Failure.self) { try keys.owner(of: old, at: time) }
        #expect(try state.watch.read(player) != nil)
        var lines: [Range<Int>] = []
        var reader = try state.audience.reader()
        while let shard = try reader.next() {
            for entry in shard.entries() {
                lines += entry.lines
                #expect(entry.lines.allSatisfy { !shard.contains(Array("old".utf8), in: $0) })
            }
        }
        #expect(lines.count == 1)
    }

    @Test(
        "while an erasure runs, its user does not come back; after it, or once it was killed, yes")
    func refused() throws {
        let state = scratch.state
        let player = try #require(PlayerID("1783478"))
        func comeBack() throws {
            try state.registry.bind(
                DeviceToken("aaaa")!, environment: nil, to: player, at: time)
        }
        try comeBack()
        _ = try state.takeDevices(of: UserID(player))
        let path = scratch.folder.path
        try state.erasing(UserID(player)) { () throws(Failure) in
            let failure = Result { try comeBack() }
            #expect(throws: Failure.self) { try failure.get() }
            let leftToken = DeviceToken("cccc")!
            let new = Result {
                try state.registry.bind(leftToken, environment: nil, to: player, at: time)
            }
            #expect(throws: Failure.self) { try new.get() }
            let named = try state.tokens[leftToken].read()?.users ?? []
            #expect(named == [])
            // Others do.
            let other = Result {
                try Scratch.open(path).registry.bind(
                    DeviceToken("bbbb")!, environment: nil, to: PlayerID("7")!, at: time)
            }
            #expect(throws: Never.self) { try other.get() }
        }
        #expect(try state.tokens[DeviceToken("aaaa")!].read()?.users == [UserID(player)])
        try comeBack()
        #expect(try state.registry.users(of: DeviceToken("aaaa")!) == [UserID(player)])
    }
}

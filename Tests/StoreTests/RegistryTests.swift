import Documents
import JSON
import TestSupport
import Testing
import Turnstone
import Unix

@testable import Store

@Suite struct RegistryTests {
    let scratch: Scratch
    let time = Scratch.time
    let token = Scratch.token
    let player = Scratch.player

    init() throws { scratch = try Scratch() }

    private var registry: Registry { scratch.state.registry }
    private var id: UserID { UserID(player) }

    private func bind(
        _ token: DeviceToken = Scratch.token, _ player: PlayerID = Scratch.player,
        environment: APNsEnvironment? = nil, at time: Timestamp = Scratch.time
    ) throws {
        try registry.bind(token, environment: environment, to: player, at: time)
    }

    private func devices() throws -> [Device] {
        try scratch.state.users[scratch.user].read()?.devices ?? []
    }

    @Test("a device is the player's until it is unbound")
    func bound() throws {
        try bind()
        try bind(Scratch.secondToken)
        #expect(try devices().map(\.token) == [token, Scratch.secondToken])
        #expect(try registry.users(of: token) == [id])
        #expect(try registry.unbind(token, from: id, at: Scratch.time))
        #expect(try !registry.unbind(token, from: id, at: Scratch.time))
        #expect(try devices().map(\.token) == [Scratch.secondToken])
        #expect(try registry.users(of: token).isEmpty)
    }

    @Test("a phone may serve several players, in the order of registration")
    func shared() throws {
        try bind()
        try bind(token, Scratch.other)
        #expect(try registry.users(of: token) == [id, UserID(Scratch.other)])
        #expect(
            try !registry.unbind(Scratch.secondToken, from: UserID(Scratch.other), at: Scratch.time)
        )
        #expect(try registry.unbind(token, from: id, at: Scratch.time))
        #expect(try registry.users(of: token) == [UserID(Scratch.other)])
    }

    @Test(
        "what an icon shows is kept though the document of the phone's other user is damaged",
        arguments: [false, true])
    func damagedUser(isReplaced: Bool) throws {
        let tokens = [token, Scratch.secondToken]
        for token in tokens { for player in [player, Scratch.other] { try bind(token, player) } }
        try scratch.state.users[id].update { document in
            for index in document.devices.indices { document.devices[index].shownTurns = 2 }
        }
        let devices = try scratch.state.users[id].update { (document) throws(Failure) in
            defer { document.devices = [] }
            try registry.beginHandOvers(of: document.devices, from: id, isReplaced: isReplaced)
            return document.devices
        }
        let name = "/\(Scratch.other.number).json"
        let file = try #require(scratch.files.first { $0.hasSuffix(name) })
        try scratch.folder.write("{", to: file)
        try registry.finishRemoval(of: devices, from: id, isReplaced: isReplaced)
        for _ in 0..<2 {
            registry.finishHandOvers()
            #expect(scratch.files.count { $0.hasPrefix("handovers/") } == 2)
        }
        let third = PlayerID(number: 3)!
        for token in tokens { try bind(token, third) }
        registry.finishHandOvers()
        #expect(try scratch.state.users[third].read()?.devices.map(\.shownTurns) == [2, 2])
        #expect(!scratch.files.contains { $0.hasPrefix("handovers/") })
    }

    @Test("what an icon shows is kept for the next player if everybody has left the phone")
    func abandoned() throws {
        try bind()
        try scratch.state.users[id].update { $0.devices[0].shownTurns = 2 }
        #expect(try registry.unbind(token, from: id, at: Scratch.time))
        registry.finishHandOvers()
        #expect(try scratch.state.tokens[token].read()?.shownTurns == 2)
        try bind(token, Scratch.other)
        #expect(try scratch.state.users[Scratch.other].read()?.devices[0].shownTurns == 2)
        #expect(try scratch.state.tokens[token].read()?.shownTurns == nil)
    }

    @Test("a player's renewal takes what the icon showed when the player could not")
    func quarantinedMeanwhile() throws {
        for player in [player, Scratch.other] { try bind(token, player) }
        let other = UserID(Scratch.other)
        try scratch.state.users[id].update { $0.devices[0].shownTurns = 2 }
        try registry.recordRefusal("BadDeviceToken", of: token, of: other, isBad: true, at: time)
        #expect(try registry.unbind(token, from: id, at: Scratch.time))
        registry.finishHandOvers()
        #expect(try scratch.state.users[other].read()?.devices[0].shownTurns == nil)
        try bind(token, Scratch.other, at: time + .minutes(1))
        #expect(try scratch.state.users[other].read()?.devices[0].shownTurns == 2)
    }

    @Test("what an icon shows is not handed over while the user may still be losing the phone")
    func underWay() throws {
        for player in [player, Scratch.other] { try bind(token, player) }
        try scratch.state.users[id].update { $0.devices[0].shownTurns = 2 }
        let other = UserID(Scratch.other)
        var early: Int64?
        try scratch.state.users[id].update { (document) throws(Failure) in
            try registry.beginHandOvers(of: document.devices, from: id)
            registry.finishHandOvers()
            early = try scratch.state.users[other].read()?.devices[0].shownTurns
            document.devices = []
        }
        #expect(early == nil)
        registry.finishHandOvers()
        #expect(try scratch.state.users[other].read()?.devices[0].shownTurns == 2)
    }

    @Test("registering again renews, and leaves what it does not say")
    func renewed() throws {
        try bind(environment: .production)
        try registry.recordRefusal("BadDeviceToken", of: token, of: id, isBad: true, at: time)
        #expect(try devices()[0].quarantined == time)
        #expect(
            try scratch.state.users[scratch.user].read()?.hasDevice(for: PushServiceSet([.apns]))
                == false)
        try bind(at: time + .minutes(1))
        #expect(try devices()[0].quarantined == nil)
        #expect(try devices()[0].environment == .production)
        #expect(try devices()[0].registered == time + .minutes(1))
        try bind(environment: .development, at: time)
        #expect(try devices()[0].environment == .development)
        // A clock that was set back must not make an old "gone" count.
        #expect(try devices()[0].registered == time + .minutes(1))
    }

    @Test(
        "a token gone before its registration is kept",
        arguments: [(-1, false), (0, true), (1, true)] as [(Int64, Bool)])
    func gone(offset: Int64, isRemoved: Bool) throws {
        try bind()
        let moment = time + .milliseconds(offset)
        #expect(try registry.remove(token, of: id, goneSince: moment) == isRemoved)
        #expect(try devices().isEmpty == isRemoved)
        #expect(try registry.users(of: token).isEmpty == isRemoved)
    }

    @Test("a token called bad before its registration is not quarantined")
    func quarantine() throws {
        try bind()
        try registry.recordRefusal(
            "BadDeviceToken", of: token, of: id, isBad: true, at: time - .milliseconds(1))
        #expect(try devices()[0].quarantined == nil)
        try registry.recordRefusal("BadDeviceToken", of: token, of: id, isBad: true, at: time)
        try registry.recordRefusal(
            "BadDeviceToken", of: token, of: id, isBad: true, at: time + .hours(1))
        #expect(try devices()[0].quarantined == time)
    }

    @Test(
        "an index that names too many is not believed, and mended by the next registration or removal"
    )
    func indexNamesTooMany() throws {
        // A crash after the token index, before the user's document.
        try scratch.write(
            ["version": 1, "revision": 1, "users": ["1783478", "123456"]], to: Scratch.tokenFile)
        #expect(try registry.users(of: token).isEmpty)
        try bind()
        #expect(try registry.users(of: token) == [id])
        // A crash after the user's document, before the token index.
        try scratch.state.users[scratch.user].update { $0.devices = [] }
        #expect(try registry.users(of: token).isEmpty)
        try bind()
        #expect(try registry.unbind(token, from: id, at: Scratch.time))
        #expect(try scratch.members(Scratch.tokenFile)?["users"] == [])
    }

    @Test("registrations of several devices and players at once all stay")
    func registrationsAtOnce() async throws {
        let path = scratch.folder.path
        let time = time
        _ = try await atOnce(8) { number in
            let state = try Scratch.open(path)
            let player = PlayerID(number: Int64(number % 4 + 1))!
            for token in [DeviceToken("0\(number)")!, Scratch.token] {
                try patiently {
                    try state.registry.bind(token, environment: nil, to: player, at: time)
                }
            }
        }
        #expect(try Set(registry.users(of: token).map(\.text)) == ["1", "2", "3", "4"])
        for number in 1...4 {
            let name = UserID(PlayerID(number: Int64(number))!)
            #expect(try scratch.state.users[name].read()?.devices.count == 3)
        }
        #expect(try scratch.due(at: time).sorted() == [1, 2, 3, 4])
    }
}

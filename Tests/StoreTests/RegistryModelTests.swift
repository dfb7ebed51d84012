import Documents
import Store
import TestSupport
import Testing
import Turnstone

/// Devices of three platforms, registered and removed at random, beside a model that says who must have what.
@Suite struct RegistryModelTests {
    /// What a test registers: few enough to collide often.
    private struct Candidate {
        let platform: Platform
        let text: String

        var token: DeviceToken { DeviceToken(text, on: platform)! }

        /// Two tokens with the same one are one browser.
        var endpoint: String? { token.endpoint }
    }

    private static let candidates =
        ["ab", "cd", "ef"].map { Candidate(platform: .ios, text: $0) }
        + ["fcm:a", "fcm:b", "fcm:C"].map { Candidate(platform: .android, text: $0) }
        + [1, 2].flatMap { number in
            [UInt8(1), 2, 3].map {
                Candidate(platform: .web, text: browserToken(number, keys: $0))
            }
        }

    private static let users = ["1", "2", "ann", "bob"].map { UserID($0)! }

    /// Who has which tokens.
    private struct Model {
        var tokens: [UserID: [String]] = [:]

        mutating func add(_ candidate: Candidate, replacing previous: Candidate?, to user: UserID) {
            var list = tokens[user] ?? []
            let isKnown = list.contains(candidate.text)
            let replaced = list.filter { text in
                text != candidate.text
                    && (text == previous?.text
                        || candidate.endpoint != nil
                            && candidate.endpoint == DeviceToken(text, on: .web)?.endpoint)
            }
            if !isKnown, let place = list.firstIndex(where: { replaced.contains($0) }) {
                list[place] = candidate.text
            } else if !isKnown {
                list.append(candidate.text)
            }
            tokens[user] = list.filter { !replaced.contains($0) }
        }

        mutating func remove(_ candidate: Candidate, of user: UserID) {
            tokens[user]?.removeAll { $0 == candidate.text }
        }

        func users(of candidate: Candidate) -> Set<UserID> {
            Set(tokens.filter { $0.value.contains(candidate.text) }.keys)
        }
    }

    private func registration(_ candidate: Candidate, _ previous: Candidate?) -> Registration {
        var registration = Registration(candidate.token)
        registration.platform = candidate.platform
        registration.previous = previous?.token
        return registration
    }

    @Test(
        "whoever registers and removes what in any order has it, and nobody else", arguments: 1...60
    )
    func random(seed: UInt64) throws {
        var random = Generator(state: seed)
        let scratch = try Scratch()
        let registry = scratch.state.registry
        var model = Model()
        var ids: [String: String] = [:]  // by user and token
        for step in 0..<40 {
            let user = Self.users.randomElement(using: &random)!
            let candidate = Self.candidates.randomElement(using: &random)!
            let place: Comment = "seed \(seed), step \(step): \(user.text), \(candidate.text)"
            let time = Scratch.time + .seconds(Int64(step))
            let before = try scratch.state.users[user].read()?.devices ?? []
            switch (Int.random(in: 0..<8, using: &random), user.player) {
            case (0..<3, let player?):
                let device = try registry.bind(
                    registration(candidate, nil), to: player, at: time)
                model.add(candidate, replacing: nil, to: user)
                check(device, of: candidate, among: before, place)
            case (0..<5, _):
                let previous =
                    Bool.random(using: &random)
                    ? Self.candidates.filter { $0.platform == candidate.platform }
                        .randomElement(using: &random) : nil
                let device = try registry.claim(
                    registration(candidate, previous), for: user, at: time)
                for other in Self.users where other != user { model.remove(candidate, of: other) }
                model.add(candidate, replacing: previous, to: user)
                check(device, of: candidate, among: before, place)
            case (5, _):
                let had = model.users(of: candidate).contains(user)
                #expect(
                    try registry.unbind(named: candidate.text, from: user, at: Scratch.time) == had,
                    place)
                model.remove(candidate, of: user)
            default:
                let id = ids["\(user.text) \(candidate.text)"] ?? candidate.token.text
                let had = model.users(of: candidate).contains(user)
                #expect(try registry.unbind(named: id, from: user, at: Scratch.time) == had, place)
                model.remove(candidate, of: user)
            }
            ids = try verify(model, scratch, place)
        }
    }

    /// The device that was registered is the one that was there before, if it was.
    private func check(
        _ device: Device, of candidate: Candidate, among before: [Device], _ place: Comment
    ) {
        #expect(device.token == candidate.token && device.platform == candidate.platform, place)
        if let known = before.first(where: { $0.token == candidate.token }) {
            #expect(device.id == known.id, place)
        } else if let endpoint = candidate.endpoint,
            before.contains(where: { $0.token.endpoint == endpoint })
        {
            #expect(before.contains { $0.id == device.id }, place)
        }
    }

    /// - Returns: the devices' ids by user and token.
    private func verify(
        _ model: Model, _ scratch: Scratch, _ place: Comment
    ) throws -> [String: String] {
        var ids: [String: String] = [:]
        for user in Self.users {
            let devices = try scratch.state.users[user].read()?.devices ?? []
            #expect(devices.map(\.token.text) == model.tokens[user] ?? [], place)
            #expect(Set(devices.flatMap(\.ids)).count == devices.flatMap(\.ids).count, place)
            let endpoints = devices.compactMap(\.token.endpoint)
            #expect(Set(endpoints).count == endpoints.count, place)
            for device in devices {
                ids["\(user.text) \(device.token.text)"] = device.id
                #expect(device.delivery().service == device.platform.service, place)
            }
        }
        for candidate in Self.candidates {
            let users = try scratch.state.registry.users(of: candidate.token)
            #expect(Set(users) == model.users(of: candidate), place)
        }
        return ids
    }

    @Test("of users who claim browsers at the same time, each browser is one user's, and is found")
    func atTheSameTime() async throws {
        let scratch = try Scratch()
        let path = scratch.folder.path
        _ = try await atOnce(8) { number in
            var random = Generator(state: UInt64(number) + 1)
            let state = try Scratch.open(path)
            for step in 0..<12 {
                let user = Self.users.randomElement(using: &random)!
                let candidate = Self.candidates.randomElement(using: &random)!
                let time = Scratch.time + .seconds(Int64(step))
                try patiently {
                    if Int.random(in: 0..<4, using: &random) == 0 {
                        _ = try state.registry.unbind(
                            named: candidate.text, from: user, at: Scratch.time)
                    } else {
                        _ = try state.registry.claim(
                            registration(candidate, nil), for: user, at: time)
                    }
                }
            }
        }
        var owners: [String: [UserID]] = [:]
        for user in Self.users {
            let devices = try scratch.state.users[user].read()?.devices ?? []
            for device in devices { owners[device.token.text, default: []].append(user) }
            let endpoints = devices.compactMap(\.token.endpoint)
            #expect(Set(endpoints).count == endpoints.count)
        }
        for candidate in Self.candidates {
            let users = owners[candidate.text] ?? []
            #expect(users.count <= 1, "\(candidate.text)")
            #expect(try scratch.state.registry.users(of: candidate.token) == users)
        }
    }
}

/// Random numbers that a seed repeats (splitmix64).
private struct Generator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ mixed >> 27) &* 0x94d0_49bb_1331_11eb
        return mixed ^ mixed >> 31
    }
}

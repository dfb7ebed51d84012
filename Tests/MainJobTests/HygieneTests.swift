import Documents
import Foundation
import Spool
import Store
import TestSupport
import Testing
import Turnstone

/// The effect of answers from both of APNs' environments on the devices' registrations.
@Suite struct HygieneTests {
    /// APNs' knowledge of a device.
    fileprivate enum Kind: CaseIterable {
        case good, goneBefore, goneSince, bad, otherEnvironment, otherTopic
    }

    @Test("of ten thousand devices each is known afterwards for what it is")
    func mixed() throws {
        let world = try World()
        let development = try world.beginDevelopment()
        try world.registerMany(1...9_999)
        func kind(_ number: Int) -> Kind {
            let kinds = Kind.allCases
            return number % 20 < kinds.count ? kinds[number % 20] : .good
        }
        for number in 1...9_999 { try world.tell(kind(number), of: number, development) }
        try world.acceptForMany(1...9_999)
        let summary = try world.run("deliver")
        #expect(summary["accepted"] == .integer(9_999 - 499 * 4 - 4))

        let devices = try world.devices()
        for number in 1...9_999 {
            let device = devices[token(number)]
            let refusals = device?.refusals
            switch kind(number) {
            case .goneSince: #expect(device == nil)
            case .good, .goneBefore, .otherEnvironment: #expect(device != nil && refusals == nil)
            case .bad: #expect(refusals?.reason == "BadDeviceToken" && refusals?.count == 1)
            case .otherTopic: #expect(refusals?.reason == "DeviceTokenNotForTopic")
            }
            #expect((device?.quarantined != nil) == (kind(number) == .bad))
            let isMoved = device?.environment == .development
            #expect(isMoved == (kind(number) == .otherEnvironment))
        }

        // Only tokens that production did not know were tried there.
        let asked = try development.apns()["requests"]
        #expect(asked == .integer(1000))
    }

    @Test(
        "when more than a fifth of twenty users and more are refused alike, no device is quarantined",
        arguments: [(4, 20, true), (5, 20, false), (18, 19, true)])
    func breaker(bad: Int, all: Int, isQuarantined: Bool) throws {
        let world = try World()
        let development = try world.beginDevelopment()
        try world.registerMany(1...all, perUser: 1)
        for number in 1...bad { try world.tell(.bad, of: number, development) }
        try world.acceptForMany(1...all, perUser: 1)
        try world.run("deliver")
        let quarantined = try world.devices().values.filter { $0.quarantined != nil }
        #expect(quarantined.count == (isQuarantined ? bad : 0))
    }

    @Test(
        "before anything was accepted, refusals for three users are our fault, in however many runs",
        arguments: [Kind.bad, .otherTopic])
    fileprivate func neverAccepted(kind: Kind) throws {
        let world = try World()
        let development = try world.beginDevelopment()
        let users = Dictionary(uniqueKeysWithValues: (1...7).map { ($0, "user-\($0)") })
        try world.register(users)
        for number in 1...6 { try world.tell(kind, of: number, development) }
        var quarantined = 0
        for number in 1...6 {
            #expect(try world.problems().contains("pushes refused") == (number > 3))
            try world.accept([number: users[number] ?? ""])
            try world.run("deliver")
            let device = try world.device(number, of: users[number])
            #expect(device?.refusals != nil || number >= 3)
            if device?.quarantined != nil { quarantined += 1 }
        }
        #expect(quarantined == (kind == .bad ? 2 : 0))
        // It is known of each of them as soon as somebody else's push was accepted.
        try world.accept([7: "user-7"])
        try world.run("deliver")
        #expect(try !world.problems().contains("pushes refused"))
        try world.accept([6: "user-6"])
        try world.run("deliver")
        #expect(try world.device(6, of: "user-6")?.refusals != nil)
    }

    @Test("when many devices are gone and none has accepted a push, health says so")
    func allGone() throws {
        let world = try World()
        let development = try world.beginDevelopment()
        try world.registerMany(1...25, perUser: 1)
        for number in 1...25 { try world.tell(.goneSince, of: number, development) }
        for id in ["a", "b"] {
            try world.acceptForMany(1...25, perUser: 1, id: id)
            try world.run("deliver")
            #expect(try world.devices().count == 25)
            let refused = try world.refused()
            #expect(refused?["service"] == "apns")
            #expect(refused?["reason"] == "Unregistered")
            #expect(refused?["message"]?.string?.contains("has accepted no push") == true)
        }
        // The settings are right.
        try world.register([26: "user-26"])
        try world.accept([26: "user-26"], id: "c")
        try world.run("deliver")
        #expect(try world.refused() == nil)
        try world.acceptForMany(1...25, perUser: 1, id: "d")
        try world.run("deliver")
        #expect(try world.devices().count == 1)
        #expect(try world.refused() == nil)
    }

    @Test("health says so too if only the other environment accepts pushes")
    func goneInOneEnvironment() throws {
        let world = try World()
        let development = try world.beginDevelopment()
        try world.registerMany(1...25, perUser: 1)
        for number in 1...25 { try world.tell(.goneSince, of: number, development) }
        try world.register([26: "user-26"])
        try world.accept([26: "user-26"], id: "a", in: .development)
        try world.acceptForMany(1...25, perUser: 1, id: "b")
        try world.run("deliver")
        #expect(try world.devices().count == 26)
        #expect(
            try world.refused()?["message"]?.string?.contains("Their devices are kept") == true)
        try world.register([27: "user-27"])
        try world.accept([27: "user-27"], id: "c")
        try world.run("deliver")
        #expect(try world.refused() == nil)
    }

    @Test("while only the other environment accepts pushes, it says all reasons and the start")
    func keptInOneEnvironment() throws {
        let world = try World()
        let development = try world.beginDevelopment()
        try world.registerMany(1...24, perUser: 1)
        for number in 1...24 {
            try world.tell(number % 2 == 0 ? .goneSince : .bad, of: number, development)
        }
        try world.register([26: "user-26"])
        var since: JSONValue?
        for round in 0..<2 {
            try world.accept([26: "user-26"], id: "a\(round)", in: .development)
            try world.acceptForMany(1...24, perUser: 1, id: "b\(round)")
            try world.run("deliver")
            #expect(try world.devices().count == 25)
            let refused = try world.refused()
            #expect(refused?["reason"] == "BadDeviceToken; Unregistered")
            #expect(refused?["since"] == since ?? refused?["since"])
            since = refused?["since"]
            try world.advance(seconds: 600)
            try development.perform(["do": "clock", "now": .integer(world.now)])
        }
        // The devices are not pushed to any more.
        try world.accept([26: "user-26"], id: "c", in: .development)
        try world.run("deliver")
        #expect(try world.refused() == nil)
    }

    @Test(
        "devices that are kept and pushes that are not accepted any more are two problems",
        arguments: [false, true])
    func keptAndRefused(isOneRun: Bool) throws {
        let world = try World()
        let development = try world.beginDevelopment()
        try world.registerMany(1...25, perUser: 1)
        for number in 1...25 { try world.tell(.goneSince, of: number, development) }
        try world.register([26: "user-26"])
        try world.accept([26: "user-26"], id: "a", in: .development)
        if isOneRun { try world.run("deliver") }
        try world.acceptForMany(1...25, perUser: 1, id: "b")
        if !isOneRun { try world.run("deliver") }
        let others = [27: "user-27", 28: "user-28", 29: "user-29"]
        try world.register(others)
        for number in others.keys { try world.tell(.otherTopic, of: number, development) }
        try world.accept(others, id: "c")
        try world.run("deliver")
        let problems = try world.allRefused().map { $0["message"]?.string ?? "" }
        try #require(problems.count == 2)
        #expect(problems[0].contains("has accepted no push"))
        #expect(problems[0].contains("to 3 users:"))
        #expect(problems[1].contains("to at least 20 users: Unregistered. Their devices are kept"))
    }

    @Test("however many devices are kept, that is one problem")
    func manyKept() throws {
        let world = try World()
        let development = try world.beginDevelopment()
        try world.registerMany(1...40, perUser: 1)
        for number in 1...40 { try world.tell(.otherTopic, of: number, development) }
        try world.register([41: "user-41"])
        try world.accept([41: "user-41"], id: "a", in: .development)
        try world.acceptForMany(1...40, perUser: 1, id: "b")
        try world.run("deliver")
        let problems = try world.allRefused().map { $0["message"]?.string ?? "" }
        try #require(problems.count == 1)
        #expect(problems[0].contains("Their devices are kept"))
    }

    @Test("health says nothing if the next run removes the devices")
    func goneBesideAcceptances() throws {
        let world = try World()
        let development = try world.beginDevelopment()
        try world.registerMany(1...30, perUser: 1)
        for number in 1...25 { try world.tell(.goneSince, of: number, development) }
        try world.acceptForMany(1...30, perUser: 1)
        try world.run("deliver")
        #expect(try world.devices().count == 30)
        #expect(try world.refused() == nil)
        try world.acceptForMany(1...30, perUser: 1, id: "b")
        try world.run("deliver")
        #expect(try world.devices().count == 5)
    }

    @Test("health says so while deliver still runs, and no more once the settings are others")
    func refusedDuringRun() throws {
        let world = try World()
        let development = try world.beginDevelopment()
        let users = Dictionary(uniqueKeysWithValues: (1...3).map { ($0, "user-\($0)") })
        try world.register(users)
        for number in 1...3 { try world.tell(.otherTopic, of: number, development) }
        try world.accept(users)
        world.variables["DELIVER_LINGER_SECONDS"] = "3600"
        let drainer = try world.start("deliver")
        defer { drainer.send(SIGTERM) }
        for _ in 0..<500 where try !world.problems().contains("pushes refused") { usleep(20_000) }
        #expect(try world.problems().contains("pushes refused"))
        drainer.send(SIGTERM)
        _ = try drainer.end()
        #expect(try world.problems().contains("pushes refused"))
        world.variables["APNS_BUNDLE_ID"] = "com.example.corrected"
        #expect(try !world.problems().contains("pushes refused"))
    }

    @Test("one user's dead tokens do not keep other users' dead tokens alive")
    func oneUsersDeadTokens() throws {
        let world = try World()
        let development = try world.beginDevelopment()
        // Numbers 1 to 30 belong to one user. Numbers 101 to 140 belong to one user each, with one dead token
        // among them.
        let users = Dictionary(
            uniqueKeysWithValues: (1...30).map { ($0, "noisy") }
                + (101...140).map { ($0, "quiet-\($0)") })
        try world.register(users)
        for number in 1...30 { try world.tell(.bad, of: number, development) }
        try world.tell(.bad, of: 140, development)
        try world.accept(users)
        try world.run("deliver")
        let quarantined = try users.keys.filter {
            try world.device($0, of: users[$0])?.quarantined != nil
        }
        #expect(quarantined.sorted() == Array(1...30) + [140])
        // They are not pushed to again.
        let asked = try world.simulator.apns()["requests"]
        #expect(asked == 70)
    }

    @Test("acceptances under the same settings vouch for key and topic afterwards")
    func vouched() throws {
        let world = try World()
        let development = try world.beginDevelopment()
        try world.registerMany(1...30, perUser: 1)
        try world.acceptForMany(1...30, perUser: 1)
        try world.run("deliver")
        for number in 1...15 { try world.tell(.bad, of: number, development) }
        try world.acceptForMany(1...30, perUser: 1, id: "b")
        try world.run("deliver")
        let quarantined = try world.devices().values.filter { $0.quarantined != nil }
        #expect(quarantined.count == 15)
    }

    @Test("they do not vouch for tokens that the other environment did not look up")
    func notVouched() throws {
        let world = try World()
        let development = try world.beginDevelopment()
        try world.registerMany(1...30, perUser: 1)
        try world.acceptForMany(1...30, perUser: 1)
        try world.run("deliver")
        for number in 1...15 { try world.tell(.otherEnvironment, of: number, development) }
        try development.perform([
            "do": "apns-fault", "status": 403, "reason": "BadEnvironmentKeyIdInToken",
        ])
        try world.acceptForMany(1...30, perUser: 1, id: "b")
        try world.run("deliver")
        let quarantined = try world.devices().values.filter { $0.quarantined != nil }
        #expect(quarantined.isEmpty)
        #expect(try world.refused()?["reason"] == "BadDeviceToken, in one environment")
    }

    @Test("a device in an environment that refuses our key stops nobody else's pushes")
    func foreignStop() throws {
        let world = try World()
        let development = try world.beginDevelopment()
        try development.perform([
            "do": "apns-fault", "status": 403, "reason": "BadEnvironmentKeyIdInToken",
        ])
        let users = [1: "stranger", 2: "stranger", 3: "quiet", 4: "quiet-too"]
        for round in 0..<3 {
            try world.register(users)
            try world.accept([1: "stranger", 2: "stranger"], id: "a\(round)", in: .development)
            try world.accept([3: "quiet", 4: "quiet-too"], id: "b\(round)")
            let summary = try world.run("deliver")
            #expect(summary["accepted"] == 2)
            #expect(summary["refused"] == 2)
            #expect(try world.health().status == 200)
            #expect(world.spooled().isEmpty)
            try world.advance(seconds: 10)
        }
        #expect(try world.outcomes("a0").values.allSatisfy { $0 == ["refused"] })
        let reasons = try world.receipts().filter { $0["outcome"] == "refused" }.compactMap {
            $0["reason"]?.string
        }
        #expect(reasons == Array(repeating: "BadEnvironmentKeyIdInToken", count: 6))
        // After one refusal in a run the gateway is not asked for the others.
        #expect(try development.apns()["requests"] == 3)
    }

    @Test("a push that the other environment takes does not end the installation's own stop")
    func foreignAnswer() throws {
        let world = try World()
        _ = try world.beginDevelopment()
        try world.simulator.perform([
            "do": "apns-fault", "status": 403, "reason": "TopicDisallowed", "count": 1,
        ])
        try world.register([1: "one", 2: "two"])
        try world.accept([1: "one"], id: "a")
        try world.run("deliver", exitCode: 111)
        #expect(try world.health().status == 503)
        world.variables["APNS_BASE_URL"] = "https://127.0.0.1:1"
        try world.advance(seconds: 301)
        try world.accept([2: "two"], id: "b", in: .development)
        try world.run("deliver", exitCode: 111)
        let problems = try world.health().json?.object?["problems"]?.array ?? []
        #expect(problems.contains { $0.object?["problem"] == "delivery stopped" })
    }

    @Test("where both environments have one address, a bad token is not tried twice")
    func oneAddress() throws {
        let world = try World()
        try world.registerMany(1...1)
        try world.simulator.perform([
            "do": "token", "token": .string(token(1)), "is": "bad",
        ])
        try world.acceptForMany(1...1)
        try world.run("deliver")
        #expect(try world.simulator.apns()["requests"] == 1)
        #expect(try world.devices()[token(1)]?.quarantined != nil)
    }

    @Test("an environment that cannot be asked leaves the question open")
    func unreachable() throws {
        let world = try World()
        world.variables["APNS_ENVIRONMENT"] = "production"
        world.variables["APNS_DEVELOPMENT_BASE_URL"] = "https://127.0.0.1:1"
        try world.registerMany(1...1)
        try world.simulator.perform([
            "do": "token", "token": .string(token(1)), "is": "bad",
        ])
        try world.acceptForMany(1...1)
        #expect(try world.run("deliver")["waiting"] == 1)
        #expect(try world.devices()[token(1)]?.quarantined == nil)
        let answers = try world.receipts().filter { $0["reason"] != nil }
        let reason = "BadDeviceToken"
        #expect(
            answers.map { $0["reason"]?.string } == [
                reason, "\(reason); the other environment was not asked: ECONNREFUSED",
            ])
        // Its own one has answered, so nobody need think that it may have arrived.
        #expect(answers.map { $0["status"] } == [400, 400])
    }
}

extension World {
    fileprivate func tell(_ kind: HygieneTests.Kind, of number: Int, _ development: Simulator)
        throws
    {
        let token = JSONValue.string(token(number))
        func production(_ state: String, since offset: Int64 = 0) throws {
            try simulator.perform([
                "do": "token", "token": token, "is": .string(state),
                "since": .integer(now + offset),
            ])
        }
        switch kind {
        case .good: break
        case .goneBefore: try production("gone", since: -1)
        case .goneSince: try production("gone", since: 1)
        case .otherEnvironment: try production("other-environment")
        case .otherTopic: try production("other-topic")
        case .bad:
            try production("bad")
            try development.perform(["do": "token", "token": token, "is": "bad"])
        }
    }

    /// Gives the development environment a gateway of its own.
    fileprivate func beginDevelopment() throws -> Simulator {
        let development = try Simulator(like: simulator)
        try development.perform(["do": "clock", "now": .integer(now)])
        variables["APNS_ENVIRONMENT"] = "production"
        variables["APNS_DEVELOPMENT_BASE_URL"] = development.addresses["apns"]?.string
        return development
    }

    /// The problem that a push service refuses pushes, if `health` reports it.
    fileprivate func refused() throws -> JSONObject? { try allRefused().first }

    fileprivate func allRefused() throws -> [JSONObject] {
        let problems = try health().json?.object?["problems"]?.array ?? []
        return problems.compactMap(\.object).filter { $0["problem"] == "pushes refused" }
    }

    private var store: State {
        get throws {
            var variables = Variables()
            variables.offer("TURNSTONE_STATE", state.path)
            return try State(variables)
        }
    }

    private func names(_ numbers: ClosedRange<Int>, _ perUser: Int) -> [Int: String] {
        Dictionary(uniqueKeysWithValues: numbers.map { ($0, "user-\($0 / perUser)") })
    }

    /// A hundred to a user.
    fileprivate func registerMany(_ numbers: ClosedRange<Int>, perUser: Int = 100) throws {
        try register(names(numbers, perUser))
    }

    fileprivate func acceptForMany(
        _ numbers: ClosedRange<Int>, perUser: Int = 100, id: String = "a"
    ) throws {
        try accept(names(numbers, perUser), id: id)
    }

    /// Registers the tokens of numbers, each for the user who is named.
    fileprivate func register(_ users: [Int: String]) throws {
        let state = try store
        for (user, numbers) in Dictionary(grouping: users.keys, by: { users[$0] ?? "" }) {
            try state.users[#require(UserID(user))].update { document in
                document.devices = numbers.sorted().compactMap { DeviceToken(token($0)) }.map {
                    Device($0, registered: Timestamp(milliseconds: now))
                }
            }
        }
    }

    /// Accepts one notification for the tokens of numbers, each of the user who is named.
    fileprivate func accept(
        _ users: [Int: String], id: String = "a", in environment: APNsEnvironment? = nil
    ) throws {
        let accepted = Timestamp(milliseconds: now)
        for (number, user) in users where environment != nil {
            try change(user) { document in
                for index in document.devices.indices
                where document.devices[index].token == DeviceToken(token(number)) {
                    document.devices[index].environment = environment
                }
            }
        }
        let notification = Notification(
            id: Self.id(id), user: nil, accepted: accepted, expires: accepted + .hours(1),
            push: PushContent(
                type: .alert, priority: 10, collapseID: nil,
                payload: Payload(aps: ["alert": "Hello"])))
        try Spools(state: state.path, shards: 1).accept(
            notification,
            to: users.keys.sorted().compactMap { number in
                DeviceToken(token(number)).map {
                    Delivery(
                        token: $0, environment: environment,
                        user: users[number].flatMap { UserID($0) })
                }
            })
    }

    fileprivate func device(_ number: Int, of user: String?) throws -> Device? {
        let document = try store.users[#require(user.flatMap { UserID($0) })].read()
        return document?.devices.first { $0.token == DeviceToken(token(number)) }
    }

    /// All users' devices, by their tokens.
    fileprivate func devices() throws -> [String: Device] {
        let state = try store
        var devices: [String: Device] = [:]
        for number in 0..<100 {
            let user = try #require(UserID("user-\(number)"))
            let document = try state.users[user].read()
            for device in document?.devices ?? [] { devices[device.token.text] = device }
        }
        return devices
    }
}

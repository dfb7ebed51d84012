import Spool
import Store
import TestSupport
import Testing
import Turnstone

/// What the answers of both of APNs' environments do to the devices' registrations.
@Suite struct HygieneTests {
    /// What APNs knows of a device.
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

        // Only what production did not know was asked for there.
        let asked = try development.apns()["requests"]
        #expect(asked == .integer(1000))
    }

    @Test(
        "when more than a fifth of twenty and more are refused alike, nobody is held to account",
        arguments: [(4, 20, true), (5, 20, false), (18, 19, true)])
    func breaker(bad: Int, all: Int, isHeld: Bool) throws {
        let world = try World()
        let development = try world.beginDevelopment()
        try world.registerMany(1...all)
        for number in 1...bad { try world.tell(.bad, of: number, development) }
        try world.acceptForMany(1...all)
        try world.run("deliver")
        let held = try world.devices().values.filter { $0.quarantined != nil }.count
        #expect(held == (isHeld ? bad : 0))
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
        let reasons = try world.receipts().compactMap { $0["reason"]?.string }
        #expect(reasons == ["BadDeviceToken", "ECONNREFUSED"])
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

    private var store: State {
        get throws {
            var variables = Variables()
            variables.offer("TURNSTONE_STATE", state.path)
            return try State(variables)
        }
    }

    private func user(_ number: Int) -> UserID? { UserID("user-\(number / 100)") }

    /// A hundred to a user.
    fileprivate func registerMany(_ numbers: ClosedRange<Int>) throws {
        let state = try store
        for (user, numbers) in Dictionary(grouping: numbers, by: { user($0) }) {
            try state.users.update(DocumentName(#require(user))) { document in
                document.devices = numbers.compactMap { DeviceToken(token($0)) }.map {
                    Device($0, registered: Timestamp(milliseconds: now))
                }
            }
        }
    }

    fileprivate func acceptForMany(_ numbers: ClosedRange<Int>) throws {
        let accepted = Timestamp(milliseconds: now)
        let notification = Notification(
            id: Self.id("a"), user: nil, accepted: accepted, expires: accepted + .hours(1),
            push: PushContent(
                type: "alert", priority: 10, collapseID: nil,
                payload: ["aps": ["alert": "Hello"]]))
        try Spool(state: state.path).accept(
            notification,
            to: numbers.compactMap { number in
                DeviceToken(token(number)).map {
                    Delivery(token: $0, environment: nil, user: user(number))
                }
            })
    }

    /// All users' devices, by their tokens.
    fileprivate func devices() throws -> [String: Device] {
        let state = try store
        var devices: [String: Device] = [:]
        for number in stride(from: 0, to: 10_000, by: 100) {
            let document = try state.users.read(DocumentName(#require(user(number))))
            for device in document?.devices ?? [] { devices[device.token.hex] = device }
        }
        return devices
    }
}

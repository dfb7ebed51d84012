import Documents
import Store
import TestSupport
import Testing
import Turnstone

/// Tokens that are one user's alone, of all kinds.
@Suite struct ClaimTests {
    let scratch: Scratch
    let time = Scratch.time
    let ann = UserID("ann")!
    let bob = UserID("bob")!

    init() throws { scratch = try Scratch() }

    private var registry: Registry { scratch.state.registry }

    @discardableResult
    private func claim(
        _ token: String, _ user: UserID, _ kind: TokenKind = .device, previous: String? = nil,
        after: Interval = .seconds(0), change: (inout Registration) -> Void = { _ in }
    ) throws -> Device {
        var registration = Registration(DeviceToken(token)!)
        registration.kind = kind
        registration.previous = previous.flatMap { DeviceToken($0) }
        change(&registration)
        return try registry.claim(registration, for: user, at: time + after)
    }

    private func activity(_ id: String?, session: String? = nil) -> TokenKind {
        .liveActivity(activity: id, session: session)
    }

    private func devices(_ user: UserID) throws -> [Device] {
        try scratch.state.users[user].read()?.devices ?? []
    }

    private func tokens(_ user: UserID) throws -> [String] { try devices(user).map(\.token.text) }

    private func holders(_ token: String) throws -> [String]? {
        try scratch.state.tokens[DeviceToken(token)!].read()?.users.map(\.text)
    }

    @Test("a token that a user claims leaves all others, and takes its environment along")
    func takenOver() throws {
        let token = Scratch.token
        try registry.bind(token, environment: .production, to: Scratch.player, at: time)
        try registry.bind(token, environment: nil, to: Scratch.other, at: time)
        let device = try claim(token.text, ann) { $0.name = "iPhone" }
        #expect(device.environment == .production && device.name == "iPhone")
        #expect(try registry.users(of: token) == [ann])
        #expect(try holders(token.text) == ["ann"])
        for player in [Scratch.player, Scratch.other] {
            #expect(try devices(UserID(player)).isEmpty)
        }
        try registry.bind(token, environment: nil, to: Scratch.player, at: time)
        #expect(try registry.users(of: token) == [ann, UserID(Scratch.player)])
        try claim(token.text, ann)
        #expect(try registry.users(of: token) == [ann])
    }

    @Test("claiming again renews, and keeps omitted values and the first day")
    func renewed() throws {
        let first = try claim("ab", ann) {
            $0.name = "iPad"
            $0.appVersion = "1.0"
        }
        #expect(first.created == time && first.registered == time)
        let again = try claim("ab", ann, after: .hours(1)) { $0.appVersion = "2.0" }
        #expect(again.created == time && again.registered == time + .hours(1))
        #expect(again.name == "iPad" && again.appVersion == "2.0" && again.id == first.id)
        #expect(try devices(ann) == [again])
    }

    @Test("a token that replaces another is the same device, in one commit")
    func rotated() throws {
        try claim("ab", ann) { $0.name = "iPad" }
        let file = "users/49/ann.json"
        let revision = try scratch.members(file)?["revision"]?.integer
        let device = try claim("cd", ann, previous: "ab", after: .hours(1))
        #expect(device.name == "iPad" && device.created == time)
        #expect(try tokens(ann) == ["cd"])
        #expect(try scratch.members(file)?["revision"]?.integer == revision.map { $0 + 1 })
        #expect(try holders("ab") == [] && holders("cd") == ["ann"])
        // The answer was lost, and the app says it again.
        try claim("cd", ann, previous: "ab", after: .hours(2))
        #expect(try tokens(ann) == ["cd"])
    }

    @Test("a previous token that is another user's, or the same, changes nothing")
    func previousOfAnother() throws {
        try claim("ab", bob)
        try claim("cd", ann, previous: "ab")
        try claim("cd", ann, previous: "cd")
        #expect(try tokens(ann) == ["cd"] && tokens(bob) == ["ab"])
    }

    @Test("a previous token that came back beside the new one goes")
    func previousBeside() throws {
        try claim("ab", ann)
        try claim("cd", ann)
        try claim("cd", ann, previous: "ab")
        #expect(try tokens(ann) == ["cd"] && holders("ab") == [])
    }

    @Test("a Live Activity is found by its name and by its session, until its token goes")
    func activities() throws {
        try claim("ab", ann, activity("a1", session: "s"))
        try claim("cd", bob, activity(nil, session: "s"))
        #expect(try registry.users(ofActivity: "a1") == [ann])
        #expect(try registry.users(ofSession: "s") == [ann, bob])
        #expect(try registry.users(ofActivity: "s").isEmpty)
        #expect(try registry.unbind(DeviceToken("ab")!, from: ann, at: Scratch.time))
        #expect(try registry.users(ofActivity: "a1").isEmpty)
        #expect(try registry.users(ofSession: "s") == [bob])
        #expect(
            try scratch.state.activities[named: DocumentName(hash: Self.hashOfA1)].read()?.users
                == [])
    }

    private static let hashOfA1 = "f55ff16f66f43360266b95db6f8fec01d76031054306ae4a4b380598f6cfd114"

    @Test("an activity has one token at a time, devices and starts have one each")
    func oneTokenAnActivity() throws {
        try claim("ab", ann, activity("a1", session: "s"))
        try claim("cd", ann, activity("a1"), after: .minutes(1))
        try claim("ef", ann, activity("a2"), after: .minutes(1))
        try claim("12", ann, .liveActivityStart(attributesType: "T"))
        try claim("34", ann, .liveActivityStart(attributesType: "T"))
        #expect(try tokens(ann) == ["cd", "ef", "12", "34"])
        #expect(try devices(ann)[0].kind == activity("a1"))
        #expect(try registry.users(ofSession: "s").isEmpty)
        #expect(try holders("ab") == [])
    }

    @Test("a Live Activity's token that is a day old goes with the next registration")
    func oldActivities() throws {
        try claim("ab", ann, activity("a1"))
        try claim("cd", ann, .liveActivityStart(attributesType: "T"))
        try claim("ef", ann, after: .hours(24))
        #expect(try tokens(ann) == ["ab", "cd", "ef"])
        try claim("ef", ann, after: .hours(25))
        #expect(try tokens(ann) == ["cd", "ef"])
        #expect(try holders("ab") == [] && registry.users(ofActivity: "a1").isEmpty)
    }

    @Test("an activity's name is the user's who registered it first, as long as the user has it")
    func firstNamer() throws {
        try claim("ab", ann, activity("a1", session: "s"))
        #expect(cause { try claim("cd", bob, activity("a1")) } == "refused")
        #expect(cause { try claim("cd", bob, activity("a1"), previous: "ab") } == "refused")
        #expect(try registry.users(ofActivity: "a1") == [ann])
        #expect(try tokens(bob).isEmpty)
        #expect(try holders("cd") == nil)
        // The same session is for everybody.
        try claim("cd", bob, activity("a2", session: "s"))
        #expect(try registry.users(ofSession: "s") == [ann, bob])
        #expect(try registry.unbind(DeviceToken("ab")!, from: ann, at: Scratch.time))
        try claim("ef", bob, activity("a1"))
        #expect(try registry.users(ofActivity: "a1") == [bob])
    }

    @Test("of users who register an activity's name at once, one has it")
    func nameAtOnce() throws {
        for round in 0..<60 {
            atOnce(8) { number in
                let user = UserID("user-\(number)")!
                _ = try? claim(
                    String(format: "%04x", 8 * round + number), user, activity("a\(round)"))
            }
            #expect(try registry.users(ofActivity: "a\(round)").count == 1)
        }
    }

    @Test("a token refused as one too many among simultaneous ones belongs to nobody")
    func tooManyAtOnce() throws {
        atOnce(64) { _ = try? claim(String(format: "%04x", $0), ann) }
        let mine = try Set(tokens(ann))
        #expect(mine.count == 50)
        for token in (0..<64).map({ String(format: "%04x", $0) }) where !mine.contains(token) {
            #expect(try holders(token) ?? [] == [])
        }
    }

    @Test("one device more than allowed is refused, and nobody loses anything")
    func quotas() throws {
        for number in 10..<60 { try claim("\(number)", ann) }
        try claim("ff", bob)
        #expect(cause { try claim("ff", ann) } == "refused")
        #expect(try tokens(bob) == ["ff"])
        #expect(try holders("ff") == ["bob"])
        #expect(try tokens(ann).count == 50)
        // The user's own device is renewed, and replaced.
        try claim("10", ann)
        #expect(try tokens(ann).count == 50)
        // Live Activities are counted by themselves.
        for number in 10..<30 { try claim("aa\(number)", ann, activity("a\(number)")) }
        #expect(cause { try claim("bb", ann, activity("b")) } == "refused")
        #expect(try tokens(ann).count == 70)
    }

    @Test("users are distinguished by the bytes of their ids, not by their looks")
    func equivalentIDs() throws {
        let composed = UserID("jos\u{e9}")!
        let decomposed = UserID("jose\u{301}")!
        #expect(composed != decomposed)
        #expect(Set([composed, decomposed]).count == 2)
        try claim("ab", composed)
        try claim("ab", decomposed)
        #expect(try tokens(composed).isEmpty)
        #expect(try tokens(decomposed) == ["ab"])
        #expect(try registry.users(of: DeviceToken("ab")!) == [decomposed])
    }

    @Test("an id of any length has documents", arguments: ["\u{56f2}", "a", "\u{e9}", "."])
    func longIDs(character: String) throws {
        let longest = 128 / character.utf8.count
        for count in 3...longest {
            let user = UserID(String(repeating: character, count: count))!
            try claim("ab", user)
            #expect(try tokens(user) == ["ab"])
            #expect(try registry.users(of: DeviceToken("ab")!) == [user])
        }
    }

    @Test("a number in a claim makes nobody a player, and registering as one does")
    func players() throws {
        let number = UserID(Scratch.player)
        try claim("ab", number)
        #expect(try scratch.state.watch.read(Scratch.player) == nil)
        #expect(try !registry.repair(Scratch.player))
        #expect(try Scratch.compare(scratch.state) == 0)
        func due() throws -> Int { try scratch.due(at: time).count }
        #expect(try due() == 0)
        try registry.bind(
            DeviceToken("cd")!, environment: nil, to: Scratch.player, at: Scratch.time)
        #expect(try due() == 1)
        // And stays one, whatever else registers.
        try claim("ef", number)
        #expect(try isWatched())
    }

    @Test("a taken over activity is found by its new user alone")
    func activityTakenOver() throws {
        try claim("ab", ann, activity("a1"))
        try claim("ab", bob, activity("a1"))
        #expect(try registry.users(ofActivity: "a1") == [bob])
        #expect(
            try scratch.state.activities[named: DocumentName(hash: Self.hashOfA1)].read()?.users
                == [bob])
    }

    private func isWatched(with services: [PushService] = [.apns]) throws -> Bool {
        let user = try scratch.state.users[scratch.user].read()
        return user?.isWatched(with: PushServiceSet(services)) == true
    }

    @Test("only messages by services that can be reached make a player watched")
    func watched() throws {
        let player = UserID(Scratch.player)
        try registry.bind(Scratch.token, environment: nil, to: Scratch.player, at: time)
        #expect(try registry.unbind(Scratch.token, from: player, at: Scratch.time))
        try claim("ab", player, activity("a1"))
        try claim("cd", player) { $0.platform = .android }
        #expect(try !isWatched())
        #expect(try isWatched(with: [.apns, .fcm]))
        try claim("ef", player)
        #expect(try isWatched())
    }

    @Test("every kind of device is on disk as FORMAT.md says, and read again")
    func documents() throws {
        let made = [
            try claim("ab", ann, activity("a1", session: "s")) { $0.environment = .production },
            try claim("cd", ann, .liveActivityStart(attributesType: "T")),
            try registry.claim(android, for: ann, at: time),
        ]
        #expect(try devices(ann) == made)
        let moment = JSONValue(time)
        #expect(
            try scratch.members("users/49/ann.json")?["devices"] == [
                [
                    "token": "ab", "kind": "live_activity", "activity_id": "a1", "session_id": "s",
                    "environment": "production", "registered_at": moment,
                ],
                [
                    "token": "cd", "kind": "live_activity_start", "attributes_type": "T",
                    "registered_at": moment,
                ],
                [
                    "token": "fcm:X_-1", "platform": "android", "name": "Pixel",
                    "app_version": "3", "registered_at": moment,
                ],
            ])
    }

    private var android: Registration {
        var registration = Registration(DeviceToken("fcm:X_-1", on: .android)!)
        registration.platform = .android
        registration.name = "Pixel"
        registration.appVersion = "3"
        return registration
    }

    private func claim(
        browser text: String, _ user: UserID, after: Interval = .seconds(0)
    ) throws -> Device {
        var registration = Registration(try #require(DeviceToken(text, on: .web)))
        registration.platform = .web
        return try registry.claim(registration, for: user, at: time + after)
    }

    @Test("a browser that renews its keys stays the same device")
    func renewedKeys() throws {
        let first = try claim(browser: browserToken(1), ann)
        let other = try claim(browser: browserToken(2), ann)
        let renewed = try claim(browser: browserToken(1, keys: 2), ann, after: .hours(1))
        #expect(renewed.id == first.id && renewed.created == first.created)
        #expect(try tokens(ann) == [browserToken(1, keys: 2), browserToken(2)])
        #expect(try devices(ann).map(\.id) == [first.id, other.id])
        let old = try #require(DeviceToken(browserToken(1), on: .web))
        #expect(try registry.users(of: old).isEmpty)
        #expect(try registry.users(of: renewed.token) == [ann])
    }

    @Test("who knows a browser's endpoint alone changes nothing of another user's")
    func stranger() throws {
        let device = try claim(browser: browserToken(1), ann)
        let forged = try claim(browser: browserToken(1, keys: 2), bob)
        #expect(forged.id != device.id)
        #expect(try devices(ann) == [device])
        #expect(try registry.users(of: device.token) == [ann])
    }

    @Test("a browser is pushed to by its own service, and is on disk with its platform")
    func browsers() throws {
        let device = try claim(browser: browserToken(1), ann)
        #expect(device.delivery().service == .web)
        #expect(try claim("ab", ann).delivery().service == .apns)
        #expect(try registry.claim(android, for: ann, at: time).delivery().service == .fcm)
        #expect(
            try scratch.members("users/49/ann.json")?["devices"]?.array?.first == [
                "token": .string(browserToken(1)), "platform": "web",
                "registered_at": JSONValue(time),
            ])
        // Programs that know no browsers must not touch it.
        #expect(try scratch.members("users/49/ann.json")?["version"] == 2)
        let (apns, all) = (PushServiceSet([.apns]), PushServiceSet(PushService.all))
        #expect(!device.takesMessages(by: apns) && device.isSkipped(by: apns))
        #expect(device.takesMessages(by: all) && !device.isSkipped(by: all))
        #expect(!device.takesBadges(by: all))
        #expect(try devices(ann).map { $0.takesBadges(by: all) } == [false, true, true])
    }

    /// Transfers a device of ann's, whose token was replaced and which is switched off.
    private func closedDevice() throws -> Device {
        try claim("ab", ann) { $0.model = "iPhone15,2" }
        return try claim("cd", ann, previous: "ab", after: .hours(1)) { $0.isEnabled = false }
    }

    @Test("a transferred device keeps its id, and stays switched off")
    func transferred() throws {
        let device = try closedDevice()
        let given = try registry.transfer(device, to: bob, at: time + .hours(2))
        #expect(given == device && !given.isEnabled && given.model == "iPhone15,2")
        #expect(try devices(bob) == [device] && devices(ann).isEmpty && holders("cd") == ["bob"])
        #expect(try registry.devices(withIDs: [device.id]).map(\.user) == [bob])
        #expect(!scratch.files.contains { $0.hasPrefix("transfers/") })
    }

    @Test("a transfer that stopped half-way is finished by the next program")
    func finished() throws {
        let device = try closedDevice()
        let busy = scratch.state.users[bob]
        try busy.update { _ in }
        try busy.holding { (_, _) throws(Failure) in
            #expect(
                cause {
                    try Lock.waiting(upTo: .milliseconds(1)) { () throws(Failure) in
                        _ = try registry.transfer(device, to: bob, at: time)
                    }
                } == "busy")
            #expect((try? devices(ann)) == [] && (try? devices(bob)) == [])
            // Bob's document is still locked.
            _ = try? Scratch.open(scratch.folder.path)
            #expect((try? devices(bob)) == [])
        }
        _ = try Scratch.open(scratch.folder.path)
        #expect(try devices(bob) == [device] && devices(ann).isEmpty)
        #expect(!scratch.files.contains { $0.hasPrefix("transfers/") })
    }

    @Test("an app's registration overtakes a transfer that stopped half-way")
    func overtaken() throws {
        try stopTransfer(of: closedDevice(), at: time)
        let cid = UserID("cid")!
        try claim("cd", cid, after: .hours(3))
        _ = try Scratch.open(scratch.folder.path)
        #expect(try tokens(cid) == ["cd"] && devices(bob).isEmpty && devices(ann).isEmpty)
    }

    @Test(
        "a claim that stopped half-way ends the former registration, also if the clock was ahead then",
        arguments: ["busy", "erasing"])
    func stopped(reason: String) throws {
        try claim("ab", ann, after: .hours(2))
        let copy = try #require(scratch.folder.read("users/49/ann.json"))
        func stop() -> String? {
            cause {
                try Lock.waiting(upTo: .milliseconds(1)) { () throws(Failure) in
                    _ = try registry.claim(Registration(DeviceToken("ab")!), for: bob, at: time)
                }
            }
        }
        if reason == "busy" {
            try scratch.state.users[bob].holding { (_, _) throws(Failure) in
                #expect(stop() == reason)
            }
        } else {
            try claim("cd", bob)
            _ = try scratch.state.takeDevices(of: bob)
            try scratch.state.erasing(bob) { () throws(Failure) in #expect(stop() == reason) }
        }
        #expect(try devices(ann).isEmpty && devices(bob).isEmpty)
        try claim("ab", bob)
        try scratch.folder.write(copy, to: "users/49/ann.json")
        try scratch.folder.write("", to: "users/49/ann.json.lock")
        #expect(try devices(ann).isEmpty && tokens(bob) == ["ab"])
    }

    @Test(
        "a transfer that stopped half-way gives the device to its new user, whatever becomes of the former one",
        arguments: [false, true])
    func transferOfLeaving(isErased: Bool) throws {
        let device = try closedDevice()
        try stopTransfer(of: device, at: time)
        if isErased {
            let devices = try scratch.state.takeDevices(of: ann)
            _ = try scratch.state.eraseTraces(of: ann, devices, at: Scratch.time) {
                Issue.record("\($0)")
            }
        } else {
            #expect(try !registry.unbind(device.token, from: ann, at: Scratch.time))
        }
        _ = try Scratch.open(scratch.folder.path)
        #expect(try devices(bob) == [device] && devices(ann).isEmpty)
        #expect(!scratch.files.contains { $0.hasPrefix("transfers/") })
    }

    /// Begins a transfer to bob that ends before he has the device.
    private func stopTransfer(of device: Device, at time: Timestamp) throws {
        try scratch.state.users[bob].holding { (_, _) throws(Failure) in
            #expect(
                cause {
                    try Lock.waiting(upTo: .milliseconds(1)) { () throws(Failure) in
                        _ = try registry.transfer(device, to: bob, at: time)
                    }
                } == "busy")
        }
    }

    @Test("a transfer that began while the clock was ahead ends none of the new user's activities")
    func transferAhead() throws {
        let now = Timestamp.systemNow
        _ = try registry.claim(Registration(DeviceToken("ab")!), for: ann, at: now + .days(2))
        var activity = Registration(DeviceToken("ef")!)
        activity.kind = self.activity("game")
        _ = try registry.claim(activity, for: bob, at: now)
        try stopTransfer(of: try #require(try devices(ann).first), at: now)
        _ = try Scratch.open(scratch.folder.path)
        #expect(try tokens(bob).sorted() == ["ab", "ef"] && devices(ann).isEmpty)
    }

    @Test("a transfer to a user with as many devices as allowed is refused, and changes nothing")
    func transferQuota() throws {
        for number in 10..<60 { try claim("\(number)", bob) }
        let device = try closedDevice()
        #expect(cause { _ = try registry.transfer(device, to: bob, at: time) } == "refused")
        #expect(try devices(ann) == [device])
        #expect(!scratch.files.contains { $0.hasPrefix("transfers/") })
    }

    @Test("a user is given one id, and an id is given to one user, whoever asks at once")
    func namedAtOnce() throws {
        for round in 0..<20 {
            for number in 0..<4 {
                try claim(
                    "a\(round % 10)\(round / 10)\(number)", UserID("anon-\(round)-\(number)")!)
            }
            atOnce(8) { number in
                let user = UserID("anon-\(round)-\(number % 4)")!
                let name = UserID("name-\(round)-\(number / 4)")!
                _ = try? patiently {
                    try registry.name(user, as: name) { !$0.devices.isEmpty }
                }
            }
            let names = try (0..<2).map { try devices(UserID("name-\(round)-\($0)")!).count }
            #expect(names == [1, 1])
            let left = try (0..<4).filter { try !devices(UserID("anon-\(round)-\($0)")!).isEmpty }
            #expect(left.count == 2)
            for number in 0..<4 {
                let token = DeviceToken("a\(round % 10)\(round / 10)\(number)")!
                #expect(try registry.users(of: token).count == 1)
            }
        }
    }

    @Test("of users who claim one token at the same time, one has it, and the index is right")
    func claimsAtOnce() async throws {
        let path = scratch.folder.path
        let time = time
        _ = try await atOnce(8) { number in
            let state = try Scratch.open(path)
            for round in 0..<5 {
                let user = UserID("user\((number + round) % 4)")!
                try patiently {
                    _ = try state.registry.claim(
                        Registration(Scratch.token), for: user, at: time)
                }
                if round == 2 {
                    try patiently {
                        _ = try state.registry.unbind(Scratch.token, from: user, at: Scratch.time)
                    }
                }
            }
        }
        let having = try (0..<4).filter { try !devices(UserID("user\($0)")!).isEmpty }
        #expect(having.count <= 1)
        #expect(try registry.users(of: Scratch.token).map(\.text) == having.map { "user\($0)" })
    }
}
